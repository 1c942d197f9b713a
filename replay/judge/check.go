package judge

import (
	"context"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
)

// checked is the question of [Check]: the statement stands in the context as it is.
const checked = "Never change a file under archive/ without asking first."

// Check asks a judge one short question whose right answer is supported, to see that it
// is there and answers in the form asked for. Problem says in words what is wrong with
// its answer, or is empty; the error is that of a judge that can't be reached.
func Check(ctx context.Context, model replay.Model, name string, seed int) (problem string, err error) {
	talk := []fixtures.Message{{Role: fixtures.RoleUser, Content: checked}, {Role: fixtures.RoleAssistant, Content: "Understood."}}
	reply, err := model.Complete(ctx, &replay.Request{
		Model: name, Seed: seed, JSON: true,
		Messages: []fixtures.Message{
			{Role: fixtures.RoleSystem, Content: instructions},
			{Role: fixtures.RoleUser, Content: question(render(talk), checked, "Must the agent ask before it changes a file under archive/?")},
		},
	})
	if err != nil {
		return "", err
	}
	parsed, err := parse(reply.Message.Content)
	if err != nil {
		return err.Error(), nil
	}
	if parsed.Verdict != replay.Supported {
		return "it says " + string(parsed.Verdict) + " of a statement that stands in the text word for word", nil
	}
	return "", nil
}
