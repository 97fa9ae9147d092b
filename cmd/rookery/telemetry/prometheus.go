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
	// mostAsking is how many may ask at once.
	mostAsking = 4
)

// served are figures that Prometheus asks for, below /metrics.
type served struct {
	reader  *exporter.Exporter
	address string
	server  *http.Server
	ended   chan struct{}
}

// serve answers at the address until stop is called.
func serve(address string, log *slog.Logger) (*served, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(),
		exporter.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address) //nolint:noctx // it opens or fails at once
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
			log.Error("metrics are served no more", "address", address, "error", err)
		}
	}()
	log.Info("serving metrics", "url", "http://"+s.address+"/metrics")
	return s, nil
}

// stop ends once no answer is under way. Nothing is stopped where nothing was served.
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

// complaints are what goes wrong while somebody is told of the metrics.
type complaints struct{ log *slog.Logger }

// Println implements promhttp.Logger. Who has gone, or has waited for too long and is told so, needs no line for each metric.
func (c complaints) Println(words ...any) {
	for _, word := range words {
		if err, is := word.(error); is && (errors.Is(err, context.Canceled) || errors.Is(err, http.ErrHandlerTimeout)) {
			return
		}
	}
	c.log.Warn(strings.TrimSpace(fmt.Sprintln(words...)))
}
