package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"
)

var writeMan = flag.String("write-man", "", "write the man pages into this folder")

// TestManPages writes a man page of each command from its help.
func TestManPages(t *testing.T) {
	withoutVariables(t)
	folder := *writeMan
	if folder == "" {
		folder = t.TempDir()
	}
	rookery := root(&link{})
	rookery.DisableAutoGenTag = true // it has the date
	if err := doc.GenManTree(rookery, &doc.GenManHeader{Section: "1", Source: "Rookery", Manual: "Rookery"}, folder); err != nil {
		t.Fatal(err)
	}
	for path, c := range commandTree() {
		page, err := os.ReadFile(filepath.Join(folder, strings.ReplaceAll(path, " ", "-")+".1"))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, part := range []string{".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLE"} {
			if !strings.Contains(string(page), part) {
				t.Errorf("the man page of %s (%s) has no %s", path, c.Short, part)
			}
		}
	}
}
