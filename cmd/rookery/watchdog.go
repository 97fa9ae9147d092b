package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rookery-project/rookery/node/podman"
	"github.com/rookery-project/rookery/node/podman/watchdog"
)

// watchdogName is the command with which a node starts its watchdog.
const watchdogName = "watchdog"

// watchdogCommand is hidden, because only nodes use it.
func watchdogCommand() *cobra.Command {
	return &cobra.Command{
		Use:    watchdogName,
		Short:  "Stop exclusive containers of a silent node; nodes run this",
		Hidden: true,
		Args:   arguments(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			listener, err := watchdog.Inherited()
			if err != nil {
				return err
			}
			return watchdog.Serve(cmd.Context(), listener)
		},
	}
}

// useWatchdog makes a watchdog stop the host's exclusive containers if the node falls silent. Its socket is beside Podman's and bears
// the node's name, so a restarted node finds the watchdog of its earlier process.
func useWatchdog(engine *podman.Engine, uri, node string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	folder := filepath.Dir(strings.TrimPrefix(uri, "unix://"))
	engine.Watchdog(filepath.Join(folder, "rookery-"+node+".sock"), self, watchdogName)
	return nil
}
