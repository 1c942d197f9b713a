package replay_test

import (
	"testing"

	"github.com/doubletake-dev/doubletake/fixtures"
	"github.com/doubletake-dev/doubletake/replay"
	"github.com/doubletake-dev/doubletake/replay/executortest"
)

func TestInProcess(t *testing.T) {
	executortest.Test(t, func(_ *testing.T, engine *replay.Engine, _ []*fixtures.Fixture, _ []replay.Arm, folder *replay.Folder) replay.Executor {
		own := *engine
		own.Contexts = folder.Contexts
		return replay.InProcess{Engine: &own}
	})
}
