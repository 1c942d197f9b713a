package offline_test

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/replay/offline"
)

func ExampleRead() {
	reading := offline.Read(
		"Goal: add a column. Files under /migrations must not be edited.",
		"Decided: use Redis for the session cache.",
	)
	for _, claim := range []string{
		"never modify anything under /migrations",
		"Should the session cache use Redis or Postgres?",
		"Open the pull request against develop",
	} {
		fmt.Println(reading.Find(claim).Verdict)
	}
	// Output:
	// supported
	// contradicted
	// absent
}
