// Command web is the example service: it answers on :8080 with a line that says which instance answered.
//
// Its flags make it misbehave, for tests and for trying things out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	exitAfter := flag.Duration("exit-after", 0, "end by itself after this time")
	exitCode := flag.Int("exit-code", 0, "with this exit code")
	lines := flag.Int("print", 0, "print this many `lines` at the beginning")
	write := flag.String("write", "", "write `file=text` at the beginning")
	listen := flag.String("listen", ":8080", "`address` to answer on")
	eat := flag.Int("eat", 0, "take this many `MiB` of memory")
	check := flag.Bool("check", false, "end at once, with exit code 1 where there is a file /sick: a health check")
	env := flag.String("env", "", "end at once, with exit code 1 where one of these `variables` has another value: a hook")
	add := flag.String("append", "", "add a line to a file, `file=line`, and end at once: a hook")
	last := flag.String("last", "", "add a line to a file, `file=line`, as the last thing before the end")
	every := flag.Duration("every", 0, "print a line each time that this has passed")
	talk := flag.Bool("console", false, "do what is asked on standard input, and end with it")
	ignoreTerm := flag.Bool("ignore-term", false, "do not end when asked to")
	flag.Parse()
	if *check {
		if sick() {
			os.Exit(1)
		}
		return
	}
	if *env != "" {
		os.Exit(unlike(strings.Fields(*env)))
	}
	if *add != "" {
		appendLine(*add)
		return
	}
	if *talk {
		os.Exit(console(os.Stdin, os.Stdout, os.Stderr))
	}
	if *every > 0 {
		go printEvery(*every)
	}
	for i := range *lines {
		fmt.Printf("line %d of %d\n", i+1, *lines)
	}
	if path, text, ok := strings.Cut(*write, "="); ok {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	taken := make([]byte, *eat<<20)
	for i := 0; i < len(taken); i += os.Getpagesize() {
		taken[i] = 1 // only what is written to is really taken
	}
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if *ignoreTerm {
		signal.Ignore(signals...)
		signals = nil
	}
	if *exitAfter > 0 || *exitCode != 0 {
		time.AfterFunc(*exitAfter, func() { os.Exit(*exitCode) })
	}
	if err := serve(*listen, signals); err != nil {
		log.Fatal(err)
	}
	if *last != "" {
		appendLine(*last)
	}
}

// appendLine adds the line to the file, where fileAndLine is file=line.
func appendLine(fileAndLine string) {
	path, line, _ := strings.Cut(fileAndLine, "=")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := fmt.Fprintln(file, line); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
}

// serve serves at the address until one of the signals comes, and for ever where there are none.
func serve(listen string, signals []os.Signal) error {
	ctx := context.Background()
	if len(signals) > 0 {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, signals...)
		defer stop()
	}
	server := &http.Server{Addr: listen, Handler: http.HandlerFunc(answer), ReadHeaderTimeout: 10 * time.Second}
	closed := make(chan error, 1)
	go func() {
		<-ctx.Done()
		// Requests under way get a moment to finish: the client that asked for the stop has stopped sending.
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		closed <- server.Shutdown(grace)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-closed
}

// unlike returns 1 where one of the variables, each given as name=value, has another value.
func unlike(variables []string) int {
	for _, v := range variables {
		if !slices.Contains(os.Environ(), v) {
			return 1
		}
	}
	return 0
}

// sick reports whether the file exists that makes the health check fail.
func sick() bool {
	_, err := os.Stat("/sick")
	return err == nil
}

func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/health" && sick() {
		http.Error(w, "sick", http.StatusServiceUnavailable)
		return
	}
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	_, err = fmt.Fprintf(w, "%s/%s ordinal %s generation %s on %s\n", os.Getenv("ROOKERY_NAMESPACE"),
		os.Getenv("ROOKERY_SERVICE"), os.Getenv("ROOKERY_ORDINAL"), os.Getenv("ROOKERY_GENERATION"), host)
	if err != nil {
		log.Print("answering: ", err)
	}
}
