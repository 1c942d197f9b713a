package analysis

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// answered is a record of a run in which the agent was answered by builds of these
// fingerprints, with what was sent otherwise.
func answered(arms []replay.ArmInfo, sent string, fingerprints ...string) *replay.Record {
	e := &replay.Episode{}
	for i, f := range fingerprints {
		e.Exchanges = append(e.Exchanges, replay.Exchange{For: "agent", Key: fixtures.Hash(fmt.Sprint(i)), Fingerprint: f, Sent: sent})
	}
	return &replay.Record{Run: replay.Run{Plan: replay.Plan{Arms: arms}}, Episodes: []*replay.Episode{e}}
}

func TestChangedFingerprintsAreReported(t *testing.T) {
	for _, c := range []struct {
		fingerprints []string
		want         []FingerprintCount
		note         string
	}{
		{nil, nil, ""},
		{[]string{"", "fp1", "fp1"}, nil, ""},
		{[]string{"fp2", "fp1", "fp2", ""}, []FingerprintCount{{"agent", "fp2", 2}, {"agent", "fp1", 1}}, "the provider's fingerprint changed within the run (agent): fp2 (2), fp1 (1)"},
	} {
		a := &analyser{record: answered(nil, "", c.fingerprints...)}
		a.noteAnswers()
		if got := a.report.Fingerprints; !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, want %v", c.fingerprints, got, c.want)
		}
		if c.note != "" && !slices.Contains(a.notes, c.note) || c.note == "" && len(a.notes) > 0 {
			t.Errorf("%q: notes %q, want %q", c.fingerprints, a.notes, c.note)
		}
	}
}

// Answers that were asked for without a temperature vary, and nothing but a control says
// how much.
func TestRefusedTemperaturesNeedAControl(t *testing.T) {
	control := []replay.ArmInfo{{Name: RoleControl, Role: RoleControl, Kind: replay.ControlArm}}
	for _, c := range []struct {
		arms  []replay.ArmInfo
		sent  string
		wants bool
	}{
		{nil, "", false}, {nil, "max_completion_tokens for max_tokens", false},
		{nil, "no temperature, no seed", true}, {control, "no temperature", false},
	} {
		a := &analyser{record: answered(c.arms, c.sent, "fp")}
		if reason := a.varies(); (reason != "") != c.wants || c.wants && !strings.Contains(reason, "nightly.control") {
			t.Errorf("%+v: %q", c, reason)
		}
		a.noteAnswers()
		if (len(a.notes) > 0) != (c.sent != "") {
			t.Errorf("%+v: notes %q", c, a.notes)
		}
	}
}
