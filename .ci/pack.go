//go:build ignore

// Command pack prints the image of one static binary.
//
//	go run .ci/pack.go -reference localhost/rookery:1 -architecture arm64 rookery > image.tar; podman load --input image.tar
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/rookery-project/rookery/deploy/image"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run() error {
	reference := flag.String("reference", "", "the `name` of the image, as in localhost/rookery:1")
	architecture := flag.String("architecture", runtime.GOARCH, "for which the binary is built")
	flag.Parse()
	if *reference == "" || flag.NArg() != 1 {
		return errors.New("want -reference and the path of one binary, as in: pack -reference localhost/rookery:1 rookery")
	}
	binary, err := os.ReadFile(flag.Arg(0))
	if err != nil {
		return err
	}
	archive, err := image.Archive(*reference, *architecture, binary, "/"+filepath.Base(flag.Arg(0)))
	if err == nil {
		_, err = os.Stdout.Write(archive)
	}
	return err
}
