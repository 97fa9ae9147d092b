// Command generate writes the screens and the alert rules. It runs in the folder deploy/grafana, by make dashboards.
package main

import (
	"fmt"
	"os"

	"github.com/rookery-project/rookery/deploy/grafana/screens"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate screens:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := screens.Files()
	if err != nil {
		return err
	}
	for name, body := range files {
		if err := os.WriteFile(name, body, 0o644); err != nil {
			return err
		}
	}
	return nil
}
