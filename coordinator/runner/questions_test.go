package runner_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rookery-project/rookery/events"
	"github.com/rookery-project/rookery/events/bus/memory"
)

// TestWhatBecameOfACommand asks for a command that is not stored, for one that ends while the answer waits, and with questions that are none.
func TestWhatBecameOfACommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(time.Now)
		defer start(t, b, "first")()
		synctest.Wait()
		tell(t, b, "ensure", `{"image":"localhost/web:1","scale":0}`)
		synctest.Wait()
		for question, want := range map[string]string{
			`{"sequence":1}`:               `"outcome":"succeeded"`,
			`{"sequence":1,"wait":"5s"}`:   `"outcome":"succeeded"`,
			`{"sequence":2}`:               `{"code":404,"reason":"command 2 is not stored: ROOKERY_COMMANDS ends at 1. Send it again"}`,
			`{"sequence":2,"wait":"5s"}`:   `{"code":404,"reason":"command 2 is not stored: ROOKERY_COMMANDS ends at 1. Send it again"}`,
			`{"id":"a","source":"/b"}`:     `{"code":404,"reason":"no command of this id and source is known`,
			`{"sequence":1,"wait":"31s"}`:  `{"code":400,`,
			`{"id":"a","wait":"5s"}`:       `{"code":400,`,
			`{"sequence":1,"weight":"5s"}`: `{"code":400,`,
		} {
			answer, err := b.Request(t.Context(), events.Message{Subject: events.APIRoot + ".command", Header: events.Header{}, Body: []byte(question)})
			if err != nil || !strings.Contains(string(answer.Body), want) {
				t.Errorf("%s: %s, %v; want %s", question, answer.Body, err, want)
			}
		}
		hello(t, b)
		tell(t, b, "scale", `{"scale":1}`)
		synctest.Wait()
		ended := time.AfterFunc(3*time.Second, func() { see(t, b, 1, 1, events.PhaseOnline) })
		defer ended.Stop()
		began := time.Now()
		answer, err := b.Request(t.Context(), events.Message{
			Subject: events.APIRoot + ".command", Header: events.Header{}, Body: []byte(`{"sequence":2,"wait":"20s"}`),
		})
		if err != nil || !strings.Contains(string(answer.Body), `"outcome":"succeeded"`) || time.Since(began) < 3*time.Second {
			t.Errorf("after %s the answer is %s, %v", time.Since(began), answer.Body, err)
		}
	})
}
