package plot

import (
	"fmt"
	"image/color"
)

// Theme is what a figure is read on.
type Theme string

// The themes.
const (
	Light Theme = "light" // dark ink on white
	Dark  Theme = "dark"  // light ink on near black
)

// Themes lists the themes, for messages and flags.
func Themes() []Theme { return []Theme{Light, Dark} }

// colours are those of a theme. Text is written in ink and soft alone.
type colours struct {
	paper color.RGBA
	ink   color.RGBA // text and axes
	soft  color.RGBA // text of second rank
	grid  color.RGBA
	shade color.RGBA // a region that nothing should reach
	loss  color.RGBA
	gain  color.RGBA
	// series are those of arms and curves, in their order.
	series [maxSeries]color.RGBA
}

// maxSeries is how many arms or curves a figure tells apart.
const maxSeries = 5

// colours returns the theme's. Of the palette each theme takes the colours that stand
// out at least 3:1 from its paper, as WCAG 2.2 asks of graphics (1.4.11).
func (t Theme) colours() (colours, error) {
	var (
		vermillion = rgb(0xd55e00)
		blue       = rgb(0x0072b2)
		sky        = rgb(0x56b4e9)
		orange     = rgb(0xe69f00)
		yellow     = rgb(0xf0e442)
	)
	switch t {
	case Light:
		black, brown := rgb(0x000000), rgb(0x8a5a00) // orange, darkened until it stands out
		// The palette's purple, darkened for the same reason.
		purple := rgb(0xa8507f)
		return colours{
			paper: rgb(0xffffff), ink: rgb(0x1a1a1a), soft: rgb(0x595959), grid: rgb(0xe2e2e2), shade: rgb(0xf6e7dc),
			loss: vermillion, gain: blue,
			series: [maxSeries]color.RGBA{black, blue, vermillion, purple, brown},
		}, nil
	case Dark:
		return colours{
			paper: rgb(0x16181d), ink: rgb(0xeceef2), soft: rgb(0xaab0bb), grid: rgb(0x33373f), shade: rgb(0x3a2a1c),
			loss: orange, gain: sky,
			series: [maxSeries]color.RGBA{rgb(0xffffff), sky, orange, rgb(0x2fbf94), yellow},
		}, nil
	}
	return colours{}, fmt.Errorf("no theme %q: want %s or %s", string(t), Light, Dark)
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16), G: uint8(hex >> 8), B: uint8(hex), A: 0xff}
}
