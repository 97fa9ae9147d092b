package rookerytest_test

import (
	"flag"
	"fmt"
	"sync/atomic"
)

var tallies = flag.Bool("tally", false, "print at the end what the tests of operations have seen")

// tally is what the tests of operations have seen in all.
var tally struct{ operations, kills, broken, lost, doubles atomic.Int64 }

func printTally() {
	if *tallies {
		fmt.Printf("operations %d, kills %d, barriers broken %d, keys lost %d, double owners %d\n",
			tally.operations.Load(), tally.kills.Load(), tally.broken.Load(), tally.lost.Load(), tally.doubles.Load())
	}
}
