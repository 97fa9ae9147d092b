package rookerytest_test

import (
	"fmt"
	"testing"

	"github.com/rookery-project/rookery/cmd/rookerytest"
)

// A test of a service that asks Rookery to scale another. Everything ends with the test.
func ExampleStart() {
	test := func(t testing.TB) {
		cluster := rookerytest.Start(t)
		cluster.Ensure("demo/web", `{"image":"localhost/web:1","scale":3}`)
		cluster.Command("demo/web", "scale", `{"scale":5}`)

		fmt.Println("services:", cluster.State().Services)
	}
	run(test)
	// Output: services: 1
}

// run runs one test outside of go test, as an example has no *testing.T.
func run(test func(testing.TB)) {
	t := &exampleT{}
	defer t.cleanUp()
	test(t)
}
