package main

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/rookery-project/rookery/cmd/simulation/world"
)

func main() {
	testing.Init()
	seed := flag.Uint64("seed", 0, "")
	seeds := flag.Int("seeds", 1, "")
	script := flag.Bool("v", false, "")
	flag.Parse()
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "x", F: func(t *testing.T) {
		began := time.Now()
		var sim time.Duration
		for i := range *seeds {
			p := world.Draw(*seed + uint64(i))
			if *script {
				r := world.Script(t, p)
				fmt.Println(r.Script)
				r.Script = ""
				fmt.Printf("%+v\n", r)
				os.Exit(0)
			}
			r := world.Run(t, p)
			sim += r.Simulated
			fmt.Println(r.Seed, r.Simulated, r.Steps, r.Commands, r.Faults, r.Log[:8], r.Digest, r.Events, r.Broken, p.Nodes, p.Coordinators)
		}
		fmt.Println(sim.Hours()/time.Since(began).Seconds(), "h/s")
		os.Exit(0)
	}}}, nil, nil)
}
