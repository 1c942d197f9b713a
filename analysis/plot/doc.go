// Package plot draws what analysis/stats computes: the effect of a run, its evidence,
// what was kept, and what a plan can see.
//
// Every figure is made by a constructor that checks its data, and is then written as
// SVG or PNG in a light or a dark theme. The same data give the same bytes. Colours are
// Okabe and Ito's (https://jfly.uni-koeln.de/color/), told apart by people who confuse
// red and green, and are never alone: losses point up and gains down, arms differ in
// the shape of their marks, curves in their dashes.
//
// Names may come from anywhere. They are cleaned of control characters and of
// characters that turn the direction of writing, and shortened to the space there is.
package plot
