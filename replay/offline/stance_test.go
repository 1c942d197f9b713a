package offline

import (
	"fmt"
	"strings"
	"testing"
)

// stanceCase is a claim and one text that may hold it.
type stanceCase struct {
	claim, context string
	want           Verdict
}

func stanceCases() []stanceCase {
	return []stanceCase{
		// Word for word.
		{"never modify anything under /migrations", "Please never modify anything under /migrations.", Supported},
		{"Never modify anything under /migrations.", "never   modify anything under `/migrations`", Supported},
		{"never modify anything under /migrations", "The user said: never modify anything under /migrations", Supported},
		{"never modify anything under /migrations", "- Constraint (turn 3): never modify anything under /migrations", Supported},
		{"never modify anything under /migrations", "Remember that you must never modify anything under /migrations!", Supported},
		{"Never push to main without Ana's review", "Do not forget: never push to main without Ana's review.", Supported},
		{"Do not restart nginx during the day", "Logs are fine. Do not restart nginx during the day. Thanks!", Supported},
		{"Keep port 8443 closed", "No problem: keep port 8443 closed, please.", Supported},
		{"deploy rev 14 on Friday", "It is not urgent, but deploy rev 14 on Friday", Supported},
		{"deploy rev 14 on Friday", "Deploy rev 14 on Friday and never on a Monday", Supported},
		{"I suspect the cache, not confirmed", "I suspect the cache, not confirmed.", Supported},
		{"Which region should I use for the replica?", "Which region should I use for the replica?", Supported},
		// Word for word, but taken back in the same sentence.
		{"never modify anything under /migrations", "\"never modify anything under /migrations\" no longer applies", Contradicted},
		{"never modify anything under /migrations", "The rule never modify anything under /migrations is lifted.", Contradicted},
		{"keep port 8443 closed", "Keep port 8443 closed: this has been revoked", Contradicted},
		{"deploy rev 14 on Friday", "Do not deploy rev 14 on Friday.", Contradicted},
		{"deploy rev 14 on Friday", "It is not true that we deploy rev 14 on Friday", Contradicted},
		{"deploy rev 14 on Friday", "Maybe deploy rev 14 on Friday.", Contradicted},
		{"deploy rev 14 on Friday", "Deploy rev 14 on Friday, if possible.", Contradicted},
		{"deploy rev 14 on Friday", "Ignore \"deploy rev 14 on Friday\"", Contradicted},
		{"die Tabelle bestand_alt darf nie geleert werden", "Die Tabelle bestand_alt darf möglichst nie geleert werden.", Contradicted},
		// Another value in one half of a sentence, which the other half does not make good.
		{"the limit of the feed is 45 minutes and not 30", "The limit of the feed is 12 minutes and not 30.", Contradicted},
		{"the limit of the feed is 45 minutes and not 30", "The feed has a limit. It is 45 minutes and not 30.", Supported},
		// In other words.
		{"never modify anything under /migrations", "Files under /migrations must not be edited.", Supported},
		{"never modify anything under /migrations", "Do not touch anything in the migrations folder.", Supported},
		{"never modify anything under /migrations", "Editing /migrations is forbidden.", Supported},
		{"never modify anything under /migrations", "/migrations is off limits: no edits there", Supported},
		{"never modify anything under /migrations", "Leave /migrations unmodified", Supported},
		{"never delete the audit bucket", "Don't remove the audit bucket", Supported},
		{"never delete the audit bucket", "under no circumstances drop the audit bucket", Supported},
		{"never delete the audit bucket", "Avoid deleting the audit bucket.", Supported},
		{"never delete the audit bucket", "The audit bucket must never, ever be deleted.", Supported},
		{"Run the smoke tests before merging the branch", "Execute smoke tests, then merge the branch.", Supported},
		{"Run the smoke tests before merging the branch", "Merge the branch only after running the smoke tests.", Supported},
		{"Run the smoke tests before merging the branch", "Before merging the branch, run the smoke tests.", Supported},
		{"Do not merge the branch until Ana approves", "Merge the branch only after Ana's approval.", Supported},
		{"Do not merge the branch until Ana approves", "Until Ana approves, do not merge the branch", Supported},
		{"Do not merge the branch until Ana approves", "The branch must not be merged before Ana has approved it", Supported},
		{"never merge the branch without asking Ana", "Ask Ana before merging the branch", Supported},
		{"Open the pull request against develop", "The PR is to be opened against develop", Supported},
		{"Send the report to finance every Monday", "On Mondays the report is emailed to finance", Supported},
		{"use develop, not main", "Use develop instead of main.", Supported},
		{"use develop, not main", "Not main: use develop.", Supported},
		{"Use the generator instead of editing the schema by hand", "Do not edit the schema by hand, use the generator.", Supported},
		{"retry at most 3 times on timeouts", "No more than three retries on timeouts: retry 3 times", Supported},
		{"I think the cache is probably stale", "Probably the cache is stale.", Supported},
		{"Should I use Postgres or SQLite for the cache?", "Open: whether to use Postgres or SQLite for the cache", Supported},
		{"Should I use Postgres or SQLite for the cache?", "Open questions:\n- Postgres or SQLite for the cache\n", Supported},
		{"The staging host is pg-scratch:5433/inv", "staging host: pg-scratch:5433/inv", Supported},
		{"the fix lives in internal/billing/ledger/post.go", "Fix lives in ledger/post.go", Supported},
		// Not there.
		{"never modify anything under /migrations", "The tests are green and the build is quick.", Absent},
		{"never modify anything under /migrations", "Files:\n- db/migrations/0001_init.sql\n- cmd/main.go", Absent},
		{"never edit internal/billing/ledger/post.go", "Files: internal/billing/ledger/post.go", Absent},
		{"deploy rev 14 on Friday", "We deploy on Fridays.", Absent},
		{"deploy rev 14 on Friday", "", Absent},
		{"", "deploy rev 14 on Friday", Absent},
		{"Send the report to finance every Monday", "Finance sent a question about the bucket.", Absent},
		{"use pg-scratch:5433/inv, not pg-main:5432/inv", "seen pg-scratch:5433/inv and pg-main:5432/inv in the log", Absent},
		{"I will run the smoke tests before merging the release branch", "The smoke tests are slow. Do not merge yet.", Absent},
		// Polarity turned.
		{"never modify anything under /migrations", "You may modify anything under /migrations.", Contradicted},
		{"never modify anything under /migrations", "Modify the files under /migrations", Contradicted},
		{"never modify anything under /migrations", "Editing under /migrations is not forbidden.", Contradicted},
		{"never modify anything under /migrations", "You are free to edit /migrations", Contradicted},
		{"Keep the audit bucket public", "Never keep the audit bucket public", Contradicted},
		{"Run the smoke tests before merging the branch", "Do not run the smoke tests before merging the branch, it takes long", Contradicted},
		{"Run the smoke tests before merging the branch", "No need for smoke tests: merge the branch without running them", Contradicted},
		{"The flag is enabled in production", "The flag is disabled in prod", Contradicted},
		{"The flag must stay enabled in production", "turn off the flag in production, it must not stay", Contradicted},
		{"Ana approved the rollout of the gateway", "Ana has not approved the gateway rollout", Contradicted},
		{"nunca toques la carpeta de migraciones", "toca la carpeta de migraciones", Contradicted},
		// Order turned.
		{"use develop, not main", "Use main, not develop.", Contradicted},
		{"use develop instead of main", "use main instead of develop", Contradicted},
		{"Run the smoke tests before merging the branch", "Merge the branch before running the smoke tests", Contradicted},
		{"Run the smoke tests before merging the branch", "Run the smoke tests after merging the branch", Contradicted},
		{"Do not merge the branch until Ana approves", "Merge the branch before Ana approves", Contradicted},
		{"copy the rows from ledger_old to ledger_new", "copy the rows from ledger_new to ledger_old", Contradicted},
		{"prefer latency over throughput in the gateway", "prefer throughput over latency in the gateway", Contradicted},
		{"port 8080 serves staging, port 9090 serves production", "port 9090 serves staging, port 8080 serves production", Contradicted},
		// Values changed.
		{"deploy rev 14 to the canary pool", "Deploy rev 41 to the canary pool", Contradicted},
		{"listen on port 8443 for admin traffic", "Listen on port 8080 for admin traffic.", Contradicted},
		{"push only to release/2026.3 from now on", "Push only to release/2026.2 from now on", Contradicted},
		{"the fix lives in internal/billing/ledger/post.go", "The fix lives in internal/billing/ledger/pre.go", Contradicted},
		{"the replica runs in eu-west", "The replica runs in eu-north", Contradicted},
		{"push your work to `develop` only", "Push your work to `main` only", Contradicted},
		{"Send the report to Ana on Mondays", "Send the report to Ben on Mondays", Contradicted},
		{"wait 30 minutes between restarts", "Wait 45 minutes between restarts", Contradicted},
		{"the release is v2.3.1", "the release is v2.4.0, tagged by the release job", Contradicted},
		{"retry 3 times on timeouts", "Retry three times on timeouts", Supported},
		{"deploy rev 14 to the canary pool", "(turn 41) deploy rev 14 to the canary pool tomorrow", Supported},
		{"deploy rev 14 to the canary pool", "rev 13 went out last week. Deploy revision 14 to the canary pool.", Supported},
		// Strength changed.
		{"I suspect the cache, not confirmed", "The cause is the cache.", Absent},
		{"I suspect the stale session cache causes the logouts", "The stale session cache causes the logouts.", Contradicted},
		{"The outage is probably caused by the DNS resolver", "The outage is caused by the DNS resolver", Contradicted},
		{"The outage was caused by the DNS resolver", "The outage was probably caused by the DNS resolver", Contradicted},
		{"Always run the full suite before a tag", "Ideally, run the full suite before a tag", Contradicted},
		{"Always run the full suite before a tag", "Try to run the full suite before a tag", Contradicted},
		{"You must run the full suite before a tag", "You may run the full suite before a tag", Contradicted},
		{"Could you run the full suite tonight", "Run the full suite tonight", Supported},
		{"Run the full suite tonight please", "Could you run the full suite tonight?", Supported},
		{"Keep the feature flag off for now", "Keep the feature flag off", Contradicted},
		// Open questions closed.
		{"Should I use Postgres or SQLite for the cache?", "Decided: use Postgres for the cache.", Contradicted},
		{"Should I use Postgres or SQLite for the cache?", "Use Postgres for the cache, SQLite is out", Contradicted},
		{"Which region should the replica live in?", "The user chose the region where the replica should live: eu-west", Contradicted},
		{"I recommend the blue-green switch for the cutover, but it is your call", "Decided: the blue-green switch for the cutover.", Contradicted},
		{"I recommend the blue-green switch for the cutover", "Decided: the blue-green switch for the cutover.", Contradicted},
		{"awaiting Ana's word on the cutover window", "Ana confirmed the cutover window, in her own words: one word, go", Contradicted},
		{"Ana chose the blue-green switch for the cutover", "The blue-green switch for the cutover is undecided", Contradicted},
		// Several in one line, each on its own part.
		{"never push to main", "Deploy rev 14; never push to main; email the customers", Supported},
		{"email the customers about the outage", "never push to main, and email the customers about the outage", Supported},
		{"deploy rev 14 to staging", "Never email the customers; deploy rev 14 to staging, and do not restart nginx", Supported},
		{"never restart nginx by hand", "Deploy rev 14 to staging, and do not restart nginx by hand", Supported},
		{"deploy revision 14 to the staging pool", "Never email customers; rev 14 gets deployed to the staging pool", Supported},
		// Over two sentences.
		{"Never deploy rev 14 on a Friday", "Rev 14 gets deployed soon. Never on a Friday.", Supported},
		// Several clauses, one of them turned.
		{"Never refund Dr Okafor more than 180 euros, finance has signed for no higher sum", "Always refund Dr Okafor more than 180 euros, finance has signed for no higher sum", Contradicted},
		{"It is not true that Never refund Dr Okafor more than 180 euros, finance is strict", "Never refund Dr Okafor more than 180 euros, finance is strict", Contradicted},
		{"Keep Go 1.22 as the language floor, the packagers build with nothing newer", "Keep Go 1.22 as the language floor, the packagers", Supported},
		{"Anything for Lisbon must reach Tomas as a draft, never straight to the buyer", "Anything for Lisbon must reach Tomas as a draft, never", Supported},
		{"Her letter must not be sent until Legal has answered on the fault", "Her letter must be sent until Legal has answered on the fault", Contradicted},
		{"Do not edit anything under services/ledger/, Priya's team deploys that by itself", "anything under services/ledger/, Priya's team deploys that by itself", Absent},
		{"You must NEVER push to main", "Push to main", Contradicted},
		{"never push to main", "You must NOT push to main, EVER", Supported},
		// Headings.
		{"Push only to the release branch", "Constraints that must not be broken:\n- Pushes go only to the release branch", Supported},
		{"never push to main directly", "Do not:\n- push to main directly\n- email customers", Supported},
		{"push to main directly", "Never:\n- push to main directly", Contradicted},
		// Other languages.
		{"Ändere niemals die Dateien unter db/migrations", "Bitte ändere niemals die Dateien unter db/migrations.", Supported},
		{"Ändere niemals die Dateien unter db/migrations", "Ändere die Dateien unter db/migrations.", Contradicted},
		{"Ändere niemals die Dateien unter db/migrations", "Die Dateien unter db/migrations nicht ändere", Supported},
		{"Starte den Server nicht neu", "Starte den Server neu", Contradicted},
		{"No borres nunca la tabla de clientes", "No borres nunca la tabla de clientes, por favor", Supported},
		{"No borres nunca la tabla de clientes", "Borres la tabla de clientes", Contradicted},
		{"No borres la tabla de clientes", "No borres nunca la tabla de clientes", Supported},
		{"不要删除生产数据库", "用户说:不要删除生产数据库。", Supported},
		{"不要删除生产数据库", "今天天气很好", Absent},
	}
}

func TestStance(t *testing.T) {
	for _, c := range stanceCases() {
		f := Read(c.context).Find(c.claim)
		if f.Verdict != c.want {
			t.Errorf("claim %q\ncontext %q\nhave %s (coverage %.2f, %s), want %s", c.claim, c.context, f.Verdict, f.Coverage, f.Reason, c.want)
		}
	}
}

// In a long conversation a literal wins over everything else that is said.
func TestStanceLongContext(t *testing.T) {
	var context []string
	for i := range 100 {
		context = append(context, fmt.Sprintf("Turn %d: we looked at file%d.go and changed nothing. The tests of package %d pass; deploy rev %d later, maybe.", i, i, i, i))
	}
	for _, claim := range []string{
		"Never deploy rev 14 without the canary pool",
		"Should I deploy rev 7 or rev 8 first?",
		"the integration suite of package 12 is flaky on arm64",
	} {
		if got := Stance(context, claim); got == Supported {
			t.Errorf("%q before it was said: have supported", claim)
		}
		with := append(append([]string{}, context[:40]...), "Fine. "+claim+" Thanks.")
		with = append(with, context[40:]...)
		if got := Stance(with, claim); got != Supported {
			t.Errorf("%q after it was said: have %s, want supported", claim, got)
		}
	}
}

func TestFindPassage(t *testing.T) {
	f := Read("First line.\nDo not touch the migrations folder. Last line.").Find("never modify anything under /migrations")
	if f.Passage != "Do not touch the migrations folder." || f.Verdict != Supported {
		t.Errorf("have %+v", f)
	}
	f = Read("deploy rev 41 to the canary pool").Find("deploy rev 14 to the canary pool")
	if f.Reason != "another value" {
		t.Errorf("have %+v", f)
	}
}

func TestCoverage(t *testing.T) {
	if got := Coverage([]string{"deploy the canary"}, "deploy the canary pool tonight"); got != 0.5 {
		t.Errorf("have %v, want 0.5", got)
	}
	if got := Coverage([]string{"x"}, "deploy the canary pool tonight"); got != 0 {
		t.Errorf("have %v, want 0", got)
	}
}

func BenchmarkStance(b *testing.B) {
	var text strings.Builder
	for i := 0; text.Len() < 100_000; i++ {
		fmt.Fprintf(&text, "In step %d we changed internal/pkg%d/file.go, then ran the tests; they pass on rev %d. ", i, i%50, i)
	}
	context := text.String()
	const claim = "never deploy rev 14 to production before the smoke tests ran"
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			Read(context)
		}
	})
	reading := Read(context)
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			reading.Find(claim)
		}
	})
}
