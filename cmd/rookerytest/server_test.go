package rookerytest_test

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rookery-project/rookery/events/bus/embedded"
)

// serverFolder is the variable that has this test program be a NATS server with its store in the folder, for tests that
// stop or kill one.
const serverFolder = "ROOKERYTEST_SERVER_FOLDER"

func serve(dir string) {
	s, err := embedded.Start(dir, "127.0.0.1", embedded.AnyPort)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL())
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	<-end
	s.Stop()
}
