package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
)

const (
	// askTimeout bounds reading and answering one request, and idleTimeout the wait for the next.
	askTimeout  = 10 * time.Second
	idleTimeout = 2 * time.Minute
	// mostAsking bounds concurrent requests.
	mostAsking = 4
)

// served is the HTTP server with the metrics for Prometheus, under /metrics.
type served struct {
	reader  *exporter.Exporter
	address string
	server  *http.Server
	ended   chan struct{}
}

// serve answers at the address until the caller calls stop.
func serve(address string, log *slog.Logger) (*served, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(),
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // it succeeds or fails at once
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: mostAsking, Timeout: askTimeout, ErrorHandling: promhttp.ContinueOnError,
		ErrorLog: complaints{log},
	}))
	s := &served{
		reader: reader, address: listener.Addr().String(), ended: make(chan struct{}),
		server: &http.Server{
			Handler: mux, ReadTimeout: askTimeout, WriteTimeout: 2 * askTimeout, IdleTimeout: idleTimeout,
			ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
	}
	go func() {
		defer close(s.ended)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("stopped serving metrics", "address", address, "error", err)
		}
	}()
	log.Info("serving metrics", "url", "http://"+s.address+"/metrics")
	return s, nil
}

// stop waits for current requests and stops the server. It does nothing without a server.
func (s *served) stop() error {
	if s == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, s.server.Close())
	}
	<-s.ended
	return err
}

// complaints logs the errors of requests for metrics.
type complaints struct{ log *slog.Logger }

// Println implements promhttp.Logger. It skips the errors of clients that disconnected or timed out, because promhttp reports such an
// error for each metric.
func (c complaints) Println(words ...any) {
	for _, word := range words {
		if err, is := word.(error); is && (errors.Is(err, context.Canceled) || errors.Is(err, http.ErrHandlerTimeout)) {
			return
		}
	}
	c.log.Warn(strings.TrimSpace(fmt.Sprintln(words...)))
}
