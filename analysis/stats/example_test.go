package stats_test

import (
	"fmt"

	"github.com/doubletake-dev/doubletake/analysis/stats"
)

// 200 items, of which the candidate lost 12 and won 3.
func Example() {
	test, err := stats.McNemar(12, 3)
	if err != nil {
		panic(err)
	}
	fmt.Printf("worse: p = %.4f, mid-p = %.4f\n", test.PWorse, test.PMidWorse)

	estimate, err := stats.TangoInterval(12, 3, 200, 0.95)
	if err != nil {
		panic(err)
	}
	fmt.Printf("difference %.3f, 95%% interval %.3f to %.3f\n",
		*estimate.Value, estimate.Interval.Low, estimate.Interval.High)

	safe, err := stats.NonInferiority(12, 3, 200, 0.05, 0.05)
	if err != nil {
		panic(err)
	}
	fmt.Printf("worse by less than 5 points: %v\n", safe.NonInferior)

	blind, err := stats.SmallestDetectable(200, 0.02, 0.05, 0.8)
	if err != nil {
		panic(err)
	}
	fmt.Printf("would be found 4 times in 5: %.1f%% losses\n", 100**blind.LossRate)
	// Output:
	// worse: p = 0.0176, mid-p = 0.0106
	// difference 0.045, 95% interval 0.008 to 0.089
	// worse by less than 5 points: false
	// would be found 4 times in 5: 7.7% losses
}

// The same 5 losses are weak evidence in one session and some in five.
func ExampleSignFlip() {
	together, err := stats.SignFlip([]stats.Cluster{{Pairs: 5, Losses: 5}, {Pairs: 5}, {Pairs: 5}})
	if err != nil {
		panic(err)
	}
	var spread []stats.Cluster
	for range 5 {
		spread = append(spread, stats.Cluster{Pairs: 3, Losses: 1})
	}
	apart, err := stats.SignFlip(spread)
	if err != nil {
		panic(err)
	}
	fmt.Println(together.PWorse, together.Attainable)
	fmt.Println(apart.PWorse, apart.Attainable)
	// Output:
	// 0.5 false
	// 0.03125 true
}

// Looking after every discordant pair, stopping at the first alarm.
func ExampleEProcess() {
	var evidence stats.EProcess
	for evidence.PWorse() > 0.05 {
		evidence = evidence.Loss()
	}
	fmt.Println(evidence.Losses, "losses in a row")
	// Output:
	// 6 losses in a row
}
