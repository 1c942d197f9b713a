package offline

import "testing"

// TestTakenBack: a claim that stands word for word, with what takes it back outside of its
// own sentence, and harmless neighbours.
func TestTakenBack(t *testing.T) {
	const claim = "Keep the Go floor at 1.22 for every module"
	tests := []struct {
		context string
		want    Verdict
	}{
		{"The user has since withdrawn the following rule. Do the opposite.\n" + claim, Contradicted},
		{"It is false that: " + claim, Contradicted},
		{claim + " (no longer applies; raise the floor freely)", Contradicted},
		{claim + ". That is over: a newer Go is allowed now.", Contradicted},
		{"The following rule was dropped by the user and no longer holds: " + claim, Contradicted},
		{claim + ".\nThe line above no longer applies.", Contradicted},
		{"No longer valid:\n- " + claim, Contradicted},
		{claim + ".", Supported},
		{"- [turn 3, user] " + claim + ".\n- [turn 9, user] The old index was dropped.", Supported},
		{"The false positives are gone.\n" + claim, Supported},
		{"We moved over to the new runner.\n" + claim + ".\nThis is the next step.", Supported},
		{"The following was agreed:\n- " + claim + "\n- The cache was dropped", Supported},
	}
	for _, tt := range tests {
		if got := Stance([]string{tt.context}, claim); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.context, got, tt.want)
		}
	}
}
