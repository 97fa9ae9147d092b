// Command overlay creates a folder with the files from which the compiler builds a simulation whose coordinators can panic on demand. It prints
// the name of the overlay. Run it at the module's root.
package main

import (
	"fmt"
	"os"

	"github.com/rookery-project/rookery/cmd/simulation/strike"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "overlay:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("want a folder, got %q", os.Args[1:])
	}
	if err := os.MkdirAll(os.Args[1], 0o755); err != nil {
		return err
	}
	name, err := strike.Overlay(".", os.Args[1])
	if err != nil {
		return err
	}
	_, err = fmt.Println(name)
	return err
}
