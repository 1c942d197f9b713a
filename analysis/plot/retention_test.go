package plot

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Arms that reached different compactions stand under the same names.
func TestRetentionClasses(t *testing.T) {
	arms := []ArmRetention{
		{Arm: "incumbent", ByGeneration: []Kept{{"compaction 1", 3, 4}}},
		{Arm: "candidate", ByGeneration: []Kept{{"compaction 1", 2, 4}, {"compaction 2", 0, 1}}},
	}
	c := newClasses("", arms, func(a ArmRetention) []Kept { return a.ByGeneration })
	if want := []string{"compaction 1", "compaction 2"}; !slices.Equal(c.names, want) {
		t.Errorf("names %q, want %q", c.names, want)
	}
	want := [][]Kept{{{"", 3, 4}, {}}, {{"", 2, 4}, {"", 0, 1}}}
	if !reflect.DeepEqual(c.kept, want) {
		t.Errorf("kept %v, want %v", c.kept, want)
	}
}

// More classes than fit are summed, not dropped.
func TestRetentionManyClasses(t *testing.T) {
	d := manyArms(1, maxClasses+4)
	c := newClasses("", d.Arms, func(a ArmRetention) []Kept { return a.ByGeneration })
	if len(c.names) != maxClasses || c.names[maxClasses-1] != "compaction 7 and later" {
		t.Errorf("names %q", c.names)
	}
	if last := c.kept[0][maxClasses-1]; last.Scored != 5*20 || last.Kept != 5*20 {
		t.Errorf("the last class is %v", last)
	}
}

func TestRetentionTexts(t *testing.T) {
	d := manyArms(6, 2)
	d.Arms[1].ByGeneration[1] = Kept{Name: "compaction 2"}
	f, err := Retention(d)
	if err != nil {
		t.Fatal(err)
	}
	_, texts := checkSVG(t, written(t, f, SVG, Dark))
	for _, want := range []string{"reference", "mask", "6 to 15 turns", "compaction 2", "16/20", "–"} {
		if !slices.Contains(texts, want) {
			t.Errorf("the figure does not say %q: %q", want, texts)
		}
	}
	if slices.Contains(texts, "window") || !strings.HasPrefix(f.Description(), "1 more arm is not drawn.") {
		t.Errorf("the sixth arm: %.60q", f.Description())
	}
}

func TestRetentionErrors(t *testing.T) {
	for name, k := range map[string]Kept{"more kept": {"x", 2, 1}, "negative": {"x", -1, 1}, "negative scored": {"x", 0, -1}} {
		if _, err := Retention(RetentionData{Arms: []ArmRetention{{Arm: "a", ByAge: []Kept{k}}}}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
