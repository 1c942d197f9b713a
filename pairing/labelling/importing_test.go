package labelling

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"

	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/pack"
)

// exported is a run of one pair with its key on disk, and its cases in the grounding stage.
func exported(t *testing.T) (*world, []Case, *Set) {
	t.Helper()
	w := demo(t, t.TempDir(), 1)
	cases, key := w.export(Options{Seed: 6, Stage: Grounded})
	if err := WriteKey(w.record.Dir, key); err != nil {
		t.Fatal(err)
	}
	set, err := Rebuild(w.record, key)
	if err != nil {
		t.Fatal(err)
	}
	return w, cases, set
}

func TestCheck(t *testing.T) {
	_, cases, set := exported(t)
	c := &cases[0]
	good := strings.TrimSpace(lines(t, rate(c, "ann", Human)))
	change := func(edit func(*Rating)) string {
		r := rate(c, "ann", Human)
		edit(&r)
		return strings.TrimSpace(lines(t, r))
	}
	score := 6
	tests := []struct {
		name string
		line string // the second of the file; the first is a good one of another case
		want string // empty where the line is good
	}{
		{"good", good, ""},
		{"a blank line", "  ", ""},
		{"withheld", change(func(r *Rating) { r.ReviewState, r.Ratings = Withheld, []ClaimRating{} }), ""},
		{"unscored quality", change(func(r *Rating) { r.ExpectedQuality = &Quality{} }), ""},
		{"no object", `[]`, "want an object"},
		{"cut off", good[:len(good)-1], "ends amid"},
		{"two values", good + "{}", "more than one JSON value"},
		{"an unknown field", strings.Replace(good, `"rater"`, `"grade":1,"rater"`, 1), "grade: no such field"},
		{"another case of letters", strings.Replace(good, `"rater"`, `"Rater"`, 1), "Rater: no such field"},
		{"a field twice", strings.Replace(good, `"rater"`, `"kind":"human","rater"`, 1), "kind: stands twice"},
		{"a field missing", strings.Replace(good, `"kind":"human",`, ``, 1), "kind: is not there"},
		{"a null", strings.Replace(good, `"kind":"human"`, `"kind":null`, 1), "kind: want a string"},
		{"a number of the wrong kind", strings.Replace(good, `"start":0`, `"start":0.5`, 1), "start: want a whole number"},
		{"no UTF-8", strings.Replace(good, `"ann"`, "\"an\xff\"", 1), "no UTF-8"},
		{"the wrong file", change(func(r *Rating) { r.Kind = Judge }), `kind "judge" in a file of kind "human"`},
		{"no rater", change(func(r *Rating) { r.Rater = " " }), "rater: want a name"},
		{"a rater with an escape sequence", change(func(r *Rating) { r.Rater = "\x1b[31mann" }), "rater: want a name"},
		{"no digest", change(func(r *Rating) { r.CaseSHA256 = "12" }), "caseSha256: want 64"},
		{"another digest", change(func(r *Rating) { r.CaseSHA256 = strings.Repeat("0", 64) }), "stale"},
		{"another sample", change(func(r *Rating) { r.SampleID = "s-0" }), "was not asked about"},
		{"no state", change(func(r *Rating) { r.ReviewState = "Done" }), `reviewState "Done"`},
		{"withheld with ratings", change(func(r *Rating) { r.ReviewState = Withheld }), "with ratings"},
		{"not reviewed with scores", change(func(r *Rating) {
			five := 5
			r.ReviewState, r.Ratings, r.ExpectedQuality = NotReviewed, []ClaimRating{}, &Quality{Relevance: &five}
		}), "with scores"},
		{"a score beyond", change(func(r *Rating) { r.ExpectedQuality = &Quality{Usefulness: &score} }), "expectedQuality.usefulness: 6"},
		{"incomplete", change(func(r *Rating) { r.Ratings = r.Ratings[:1] }), "incomplete: no rating of c2"},
		{"a claim twice", change(func(r *Rating) { r.Ratings = append(r.Ratings, r.Ratings[0]) }), "claim c1 is rated twice"},
		{"a claim that is none", change(func(r *Rating) { r.Ratings[0].Claim = "c9" }), `no claim "c9"`},
		{"truth", change(func(r *Rating) { r.Ratings[0].Truth = "maybe" }), `truth "maybe"`},
		{"grounding", change(func(r *Rating) { r.Ratings[0].Grounding = "some" }), `grounding "some"`},
		{"evidence that is none", change(func(r *Rating) { r.Ratings[0].Evidence[0].ID = "e9" }), `no evidence "e9"`},
		{"a span beyond", change(func(r *Rating) { r.Ratings[0].Evidence[0].End = 1 << 40 }), "is not within"},
		{"an empty span", change(func(r *Rating) { r.Ratings[0].Evidence[0].End = 0 }), "is not within"},
		{"supported by nothing", change(func(r *Rating) { r.Ratings[0].Evidence = []Citation{} }), "wants a citation"},
		{"supported by what was not seen", change(func(r *Rating) { r.Ratings[0].Evidence[0].ID = notSeen(c) }), "wants a citation"},
		{"two faults", change(func(r *Rating) { r.Ratings[0].Truth, r.Ratings[1].Grounding = "x", "y" }), `grounding "y"`},
	}
	first := lines(t, rate(&cases[1], "ann", Human))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			batch, err := set.Check(nil, Source{"labels.jsonl", Human, strings.NewReader(first + tt.line + "\n")})
			if tt.want == "" {
				if err != nil || batch == nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			if err == nil || batch != nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "labels.jsonl:2: ") {
				t.Fatalf("%v, want labels.jsonl:2 with %q", err, tt.want)
			}
		})
	}
}

// notSeen is evidence that was not in front of the producer.
func notSeen(c *Case) string {
	for _, e := range c.Request.Evidence {
		if !*e.SeenByProducer {
			return e.ID
		}
	}
	return ""
}

func TestCheckNamesEveryFault(t *testing.T) {
	_, cases, set := exported(t)
	good := rate(&cases[0], "ann", Human)
	people := lines(t, good, good, rate(&cases[1], "ann", Human)) + "{\n"
	judge := lines(t, rate(&cases[0], "ann", Judge), rate(&cases[0], "robot", Judge))
	_, err := set.Check(nil, Source{"people.jsonl", Human, strings.NewReader(people)}, Source{"judge.jsonl", Judge, strings.NewReader(judge)})
	if err == nil {
		t.Fatal("nothing was found wrong")
	}
	for _, want := range []string{
		"people.jsonl:2: repeated: ann rated sample " + cases[0].SampleID + " already, people.jsonl:1",
		"people.jsonl:4: the line ends amid its JSON object",
		`judge.jsonl:1: rater "ann" is of kind judge here and of kind human elsewhere`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nhas no %q", err, want)
		}
	}
	if n := strings.Count(err.Error(), "\n") + 1; n != 4 { // the judge under the name of a person repeats her, too
		t.Errorf("%d faults, want 4:\n%v", n, err)
	}
}

func TestImport(t *testing.T) {
	w, cases, _ := exported(t)
	later := rate(&cases[0], "ann", Human)
	later.ReviewState, later.Ratings = NotReviewed, []ClaimRating{}
	people := lines(t, later, rate(&cases[1], "ann", Human))
	take := func(kind Kind, text string) error {
		_, err := Import(w.record, Source{"file", kind, strings.NewReader(text)})
		return err
	}
	held := func(want int) {
		t.Helper()
		batches, err := ReadRatings(w.record.Dir)
		n := 0
		for _, b := range batches {
			n += len(b.Ratings)
		}
		if err != nil || n != want {
			t.Fatalf("%d ratings in the log, %v; want %d", n, err, want)
		}
	}
	if err := take(Human, people); err != nil {
		t.Fatal(err)
	}
	held(2)
	if err := take(Human, lines(t, rate(&cases[1], "ben", Human))+people); err == nil || !strings.Contains(err.Error(), "file:3: repeated") || !strings.Contains(err.Error(), "in an earlier import") {
		t.Errorf("a second time: %v", err)
	}
	held(2) // ben's line was good, and is not there
	if err := take(Human, ""); err == nil {
		t.Error("an empty file was taken")
	}
	// What was not reviewed at first may be reviewed later.
	if err := take(Human, lines(t, rate(&cases[0], "ann", Human))); err != nil {
		t.Error(err)
	}
	if err := take(Judge, lines(t, rate(&cases[0], "robot", Judge))); err != nil {
		t.Error(err)
	}
	held(4)

	log, _, err := fixtures.OpenLog[Batch](filepath.Join(w.record.Dir, Dir, RatingsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := take(Human, lines(t, rate(&cases[1], "ben", Human))); !errors.Is(err, fixtures.ErrLogInUse) {
		t.Errorf("a second writer: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(w.record.Dir, Dir)); err != nil {
		t.Fatal(err)
	}
	if err := take(Human, people); !errors.Is(err, ErrNotExported) {
		t.Errorf("without an export: %v", err)
	}
}

// One changed byte of a text of evidence makes the ratings of its cases stale, and those
// of no other.
func TestChangedEvidenceMakesStale(t *testing.T) {
	w := demo(t, t.TempDir(), 2)
	cases, key := w.export(Options{Seed: 6, Stage: Grounded})
	if err := WriteKey(w.record.Dir, key); err != nil {
		t.Fatal(err)
	}
	var ratings []Rating
	for i := range cases {
		ratings = append(ratings, rate(&cases[i], "ann", Human))
	}
	for _, e := range w.record.Episodes {
		if e.ConversationID == "talk-b" && e.Arm == candidate {
			e.Context = w.put(summary("They want a reporT.")...)
		}
	}
	_, err := Import(w.record, Source{"labels.jsonl", Human, strings.NewReader(lines(t, ratings...))})
	if err == nil {
		t.Fatal("stale ratings were taken")
	}
	for i := range cases {
		at := fmt.Sprintf("labels.jsonl:%d: stale", i+1)
		_, s := caseOf(t, cases, key, "talk-b", "reference") // its evidence holds the other's context
		_, other := caseOf(t, cases, key, "talk-b", candidate)
		want := cases[i].SampleID == s.SampleID || cases[i].SampleID == other.SampleID
		if strings.Contains(err.Error(), at) != want {
			t.Errorf("line %d stale: %t, want %t:\n%v", i+1, !want, want, err)
		}
	}

	// So does a context that can no longer be read.
	store, err := pack.Open(filepath.Join(w.record.Dir, replay.ContextsDir), pack.Options{})
	if err == nil {
		err = errors.Join(store.Put(replay.ContextKey(w.record.Episodes[1].Context), []byte("broken")), store.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	w.record.Contexts = replay.NewContexts(filepath.Join(w.record.Dir, replay.ContextsDir))
	_, err = Import(w.record, Source{"labels.jsonl", Human, strings.NewReader(lines(t, ratings...))})
	if err == nil || strings.Count(err.Error(), ": stale: ") != 4 || strings.Count(err.Error(), "cannot be read") != 2 {
		t.Errorf("a broken context: %v", err)
	}
}

// A rater rates a case once in each stage.
func TestBothStagesAreTaken(t *testing.T) {
	w := demo(t, t.TempDir(), 1)
	blind, key := w.export(Options{Seed: 6})
	grounded, _ := w.export(Options{Seed: 6, Stage: Grounded})
	set, err := Rebuild(w.record, key)
	if err != nil {
		t.Fatal(err)
	}
	one, two := rate(&blind[0], "ann", Human), rate(&grounded[0], "ann", Human)
	batch, err := set.Check(nil, Source{"file", Human, strings.NewReader(lines(t, one, two))})
	if err != nil || len(batch.Ratings) != 2 {
		t.Fatalf("%v", err)
	}
	for i, want := range []Stage{Blind, Grounded} {
		if c := set.Of(&batch.Ratings[i]); c == nil || c.Request.Stage != want {
			t.Errorf("rating %d is of %+v, want stage %s", i, c, want)
		}
	}
	if _, err := set.Check([]Batch{*batch}, Source{"file", Human, strings.NewReader(lines(t, two))}); err == nil || !strings.Contains(err.Error(), "repeated") {
		t.Errorf("a second time: %v", err)
	}
}

func TestRebuildRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Key)
		want   string
	}{
		{"a later version", func(k *Key) { k.Version = 9 }, "version 9"},
		{"another run", func(k *Key) { k.Run = "x" }, "belongs to the run x"},
		{"another seed", func(k *Key) { k.Seed++ }, "does not fit its seed"},
		{"a sample twice", func(k *Key) { k.Samples = append(k.Samples, k.Samples[0]) }, "twice"},
	}
	for _, tt := range tests {
		w := demo(t, t.TempDir(), 1)
		_, key := w.export(Options{Seed: 6})
		tt.change(key)
		if _, err := Rebuild(w.record, key); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	w := demo(t, t.TempDir(), 1)
	_, key := w.export(Options{Seed: 6})
	w.record.Episodes = w.record.Episodes[:1]
	key.Samples[0].Fixture = "gone"
	set, err := Rebuild(w.record, key)
	if err != nil || len(set.Gone) == 0 || len(set.Samples) != 2 {
		t.Errorf("a fixture that is gone: %+v, %v", set, err)
	}
}

func FuzzCheck(f *testing.F) {
	w := demo(f, f.TempDir(), 1)
	cases, key := w.export(Options{Seed: 6})
	set, err := Rebuild(w.record, key)
	if err != nil {
		f.Fatal(err)
	}
	good, err := fixtures.MarshalPlain(rate(&cases[0], "ann", Human))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good) + "\n")
	f.Add(`{"ratings":[{"claim":null,"evidence":[[]]}]}` + "\n\n{}")
	f.Add("{\"a\":{\"a\":1},\"a\":[1e999]}")
	f.Fuzz(func(t *testing.T, text string) {
		batch, err := set.Check(nil, Source{"f", Human, strings.NewReader(text)})
		if (batch == nil) == (err == nil) {
			t.Fatalf("batch %v and error %v", batch, err)
		}
		if batch == nil {
			return
		}
		// What was taken is taken again, and then it is a repetition.
		var again strings.Builder
		reviewed := false
		for _, r := range batch.Ratings {
			line, err := fixtures.MarshalPlain(r)
			if err != nil {
				t.Fatal(err)
			}
			again.Write(append(line, '\n'))
			reviewed = reviewed || r.ReviewState != NotReviewed
		}
		if _, err := set.Check(nil, Source{"f", Human, strings.NewReader(again.String())}); err != nil {
			t.Fatalf("written again it is refused: %v", err)
		}
		if _, err := set.Check([]Batch{*batch}, Source{"f", Human, strings.NewReader(again.String())}); reviewed && err == nil {
			t.Fatal("a repetition was taken")
		}
	})
}
