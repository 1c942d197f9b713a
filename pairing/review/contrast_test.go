package review

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// colours reads the variables of both themes.
func colours(t *testing.T) (css string, themes map[string]map[string]string) {
	t.Helper()
	data, err := page.ReadFile("page/review.css")
	if err != nil {
		t.Fatal(err)
	}
	css = string(data)
	blocks := regexp.MustCompile(`(?s):root \{(.*?)\}`).FindAllStringSubmatch(css, -1)
	if len(blocks) != 2 {
		t.Fatalf("%d :root blocks: want one a theme", len(blocks))
	}
	themes = map[string]map[string]string{}
	for i, name := range []string{"light", "dark"} {
		themes[name] = map[string]string{}
		for _, v := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(blocks[i][1], -1) {
			themes[name][v[1]] = v[2]
		}
	}
	return css, themes
}

// luminance is the relative luminance of a colour, by WCAG 2.2.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24)
	if err != nil {
		t.Fatalf("colour %q: %v", colour, err)
	}
	part := func(shift int) float64 {
		v := float64(n>>shift&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	x, y := luminance(t, a), luminance(t, b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// The ratios of black on white, and of a grey that is known for just failing, from the
// examples of WCAG's Understanding 1.4.3 and 1.4.11.
func TestContrastFormula(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#ffffff", "#ffffff", 1}, {"#777777", "#ffffff", 4.48}, {"#949494", "#ffffff", 3.03}} {
		if got := contrast(t, test.a, test.b); math.Abs(got-test.want) > 0.005 {
			t.Errorf("%s on %s: %.3f, want %.2f", test.a, test.b, got, test.want)
		}
	}
}

// Every text can be read on what lies behind it, and every outline that says where a
// control is or what has the focus can be seen, in both themes.
func TestContrast(t *testing.T) {
	surfaces := []string{"page", "card", "bar"}
	texts := map[string][]string{ // text: what lies behind it
		"ink": append([]string{"differs"}, surfaces...), "soft": append([]string{"differs"}, surfaces...),
		"link": surfaces, "pass": surfaces, "fail": surfaces,
		"kept-ink": {"kept"}, "lost-ink": {"lost"}, "chosen-ink": {"chosen"},
	}
	outlines := map[string][]string{
		"edge": surfaces, "focus": surfaces, "parts": {"card"}, "chosen": {"bar", "card"}, "fail": {"card"},
		"ink": surfaces, "lost-ink": {"card", "bar", "lost"},
	}
	css, themes := colours(t)
	named := []string{"line"} // parts what is told apart by its place as well
	for theme, of := range themes {
		check := func(kind string, pairs map[string][]string, least float64) {
			for front, backs := range pairs {
				for _, back := range backs {
					named = append(named, front, back)
					if of[front] == "" || of[back] == "" {
						t.Fatalf("%s: no colour %s or %s", theme, front, back)
					}
					if ratio := contrast(t, of[front], of[back]); ratio < least {
						t.Errorf("%s, %s: %s on %s has %.2f: want %.1f", theme, kind, front, back, ratio, least)
					}
				}
			}
		}
		check("text", texts, 4.5)
		check("outline", outlines, 3)
		if len(of) != len(themes["light"]) {
			t.Errorf("%s has %d colours, light has %d", theme, len(of), len(themes["light"]))
		}
	}
	// None is used that was not looked at, and none is used around the variables.
	for _, use := range regexp.MustCompile(`var\(--([a-z-]+)\)`).FindAllStringSubmatch(css, -1) {
		if !slices.Contains(named, use[1]) {
			t.Errorf("the colour %s is used, and its contrast is not computed", use[1])
		}
	}
	for _, use := range regexp.MustCompile(`[^-]color: ([^v;}][^;}]*)`).FindAllStringSubmatch(css, -1) {
		if !slices.Contains([]string{"inherit", "transparent"}, use[1]) {
			t.Errorf("the colour %q is none of the theme's", use[1])
		}
	}
}
