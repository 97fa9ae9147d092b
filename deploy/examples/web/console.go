package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// printEvery prints a line each time that the interval has passed.
func printEvery(interval time.Duration) {
	ticker := time.NewTicker(interval)
	for i := 1; ; i++ {
		<-ticker.C
		fmt.Printf("tick %d\n", i)
	}
}

// console does what each line of the input asks: "size" tells the size of the terminal, "say TEXT" and "warn TEXT" print on one stream
// or the other, and "exit CODE" ends. It returns the exit code; that of an input that has ended is 0.
func console(in *os.File, out, warnings io.Writer) int {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		word, rest, _ := strings.Cut(strings.TrimSpace(lines.Text()), " ")
		switch word {
		case "size":
			size, err := unix.IoctlGetWinsize(int(in.Fd()), unix.TIOCGWINSZ)
			if err != nil {
				fmt.Fprintln(warnings, err)
				continue
			}
			fmt.Fprintf(out, "rows=%d columns=%d\n", size.Row, size.Col)
		case "say":
			fmt.Fprintln(out, rest)
		case "warn":
			fmt.Fprintln(warnings, rest)
		case "exit":
			code, err := strconv.Atoi(rest)
			if err != nil {
				fmt.Fprintln(warnings, err)
				continue
			}
			return code
		}
	}
	return 0
}
