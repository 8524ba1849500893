package kserve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pa-tools/pa/pkg/recorder/backend"
	"github.com/pa-tools/pa/pkg/recorder/observe"
)

// A control queries the server about itself and the model. Errors need not name the server.
type control interface {
	live(ctx context.Context) error
	metadata(ctx context.Context) (modelInfo, error)
	ready(ctx context.Context) (bool, error)
	// config returns a *noConfigError if the server does not have this query, which is
	// Triton's and not KServe's.
	config(ctx context.Context, model, version string) (modelConfig, error)
	// index lists the models of the repository.
	index(ctx context.Context) ([]string, error)
	// trace sets trace settings of the model; nil resets one.
	trace(ctx context.Context, settings map[string][]string) error
	// register makes the server map a region of the system's shared memory, whose name in
	// the system is key; unregister makes it unmap the region.
	register(ctx context.Context, name, key string, bytes int64) error
	unregister(ctx context.Context, name string) error
	observe.StatisticsClient // the statistics of models; Close
}

func (b *Backend) newControl() (control, error) {
	if b.cfg.Protocol == GRPC {
		return b.newGRPCControl()
	}
	return b.newHTTPControl(), nil
}

// A noConfigError is what a server says that gives no configurations of models.
type noConfigError struct{ error }

// noConfig reports whether err is that a server gives no configuration.
func noConfig(err error) bool {
	_, ok := errors.AsType[*noConfigError](err)
	return ok
}

// Check implements backend.Backend. It checks that the server is live and the model is
// ready, reads the model's metadata and configuration, and checks that the configuration
// of b fits the model.
func (b *Backend) Check(ctx context.Context) (err error) {
	b.hold()
	c, err := b.newControl()
	if err != nil {
		return fmt.Errorf("%s: %w", b.target.host, err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := b.check(ctx, c); err != nil {
		return fmt.Errorf("%s: %w", b.target.host, b.hide(err))
	}
	return nil
}

func (b *Backend) check(ctx context.Context, c control) error {
	// ask bounds one query by CheckTimeout; its error names the timeout.
	ask := func(what string, f func(ctx context.Context) error) error {
		actx, cancel := context.WithTimeout(ctx, b.cfg.CheckTimeout)
		defer cancel()
		err := f(actx)
		if err != nil && actx.Err() != nil && ctx.Err() == nil {
			return fmt.Errorf("%s: no answer within %v", what, b.cfg.CheckTimeout)
		}
		return err
	}
	if err := ask("health", c.live); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return b.noAnswer()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return b.explain(ctx, err)
	}
	var m modelInfo
	var cfg modelConfig
	if err := ask("model metadata", func(ctx context.Context) (err error) { m, err = c.metadata(ctx); return err }); err != nil {
		var all []string
		_ = ask("repository index", func(ctx context.Context) (err error) { all, err = c.index(ctx); return err }) // only for the message
		return fmt.Errorf("model %q%s: %w%s", b.cfg.Model, b.version(), err, offers(all))
	}
	ready := false
	if err := ask("model readiness", func(ctx context.Context) (err error) { ready, err = c.ready(ctx); return err }); err != nil {
		return err
	}
	if !ready {
		return fmt.Errorf("model %q%s is not ready; is it still loading?", b.cfg.Model, b.version())
	}
	err := ask("model configuration", func(ctx context.Context) (err error) {
		cfg, err = c.config(ctx, b.cfg.Model, b.cfg.Version)
		return err
	})
	if err != nil && !noConfig(err) {
		return fmt.Errorf("model %q%s: configuration: %w", b.cfg.Model, b.version(), err)
	}
	if err := ask("configurations of composing models", func(ctx context.Context) error { return composed(ctx, c, &cfg) }); err != nil {
		return err
	}
	cfg.apply(&m)
	b.model, b.outputs = m, names(m.Outputs)
	if err := b.fits(); err != nil {
		return err
	}
	return ask("trace settings", func(ctx context.Context) error { return b.beginTrace(ctx, c) })
}

// noAnswer returns the error of a server that does not answer before the caller's deadline.
func (b *Backend) noAnswer() error {
	port := "HTTP"
	if b.cfg.Protocol == GRPC {
		port = "gRPC"
	}
	text := "no answer in time; is -u the server's " + port + " port"
	if b.target.tls {
		text += ", and does it speak TLS"
	}
	return &textError{text + "?", context.DeadlineExceeded}
}

// maxComposing bounds the models that composed reads.
const maxComposing = 100

// composed reads the configurations of the models of an ensemble, and of ensembles in it.
// An ensemble keeps state if one of its models does.
func composed(ctx context.Context, c control, cfg *modelConfig) error {
	steps := cfg.steps()
	for i := 0; i < len(steps) && i < maxComposing && cfg.Sequence == nil; i++ {
		inner, err := c.config(ctx, steps[i], "")
		if noConfig(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("model %q of the ensemble: configuration: %w", steps[i], err)
		}
		cfg.Sequence = inner.Sequence
		for _, s := range inner.steps() {
			if !slices.Contains(steps, s) {
				steps = append(steps, s)
			}
		}
	}
	return nil
}

// fits checks the configuration of b against the model.
func (b *Backend) fits() error {
	m := &b.model
	var errs []error
	if m.Decoupled && !b.cfg.Streaming {
		errs = append(errs, fmt.Errorf("model %s is decoupled; use -i grpc --async --streaming", m.Name))
	}
	if m.Decoupled && b.shared != nil {
		errs = append(errs, fmt.Errorf("model %s is decoupled: its answers would overwrite each other in shared memory; drop --shared-memory", m.Name))
	}
	switch {
	case b.batch > 1 && m.MaxBatch == 0:
		errs = append(errs, fmt.Errorf("batch size %d: model %s does not support batching; use -b 1", b.batch, m.Name))
	case m.MaxBatch > 0 && b.batch > int64(m.MaxBatch):
		errs = append(errs, fmt.Errorf("batch size %d: model %s takes at most %d", b.batch, m.Name, m.MaxBatch))
	}
	var unknown []string
	for name := range b.cfg.Shapes {
		if m.input(name) == nil && !b.cfg.OthersShapes {
			unknown = append(unknown, name)
		}
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		errs = append(errs, fmt.Errorf("--shape %s: model %s has no such input; it has %s", strings.Join(unknown, ", "), m.Name, joinNames(m.Inputs)))
	}
	return errors.Join(errs...)
}

// version returns " version 3", for instance, or "" if no version is configured.
func (b *Backend) version() string {
	if b.cfg.Version == "" {
		return ""
	}
	return " version " + b.cfg.Version
}

// maxOffers bounds the models listed in an error text.
const maxOffers = 20

// offers lists models in an error text.
func offers(all []string) string {
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) == 0 {
		return ""
	}
	more := ""
	if len(all) > maxOffers {
		more = fmt.Sprintf(" and %d more", len(all)-maxOffers)
		all = all[:maxOffers]
	}
	return "; the server offers " + strings.Join(all, ", ") + more
}

// probeTimeout bounds the probe whether the server speaks the other protocol.
const probeTimeout = 2 * time.Second

// otherScheme returns a message if -u asks for TLS and the server speaks plain HTTP, or
// the reverse; otherwise "".
func (b *Backend) otherScheme(ctx context.Context, err error) string {
	var op *net.OpError
	var record tls.RecordHeaderError // its message already says that there is no TLS
	var r *refusal
	dialing := errors.As(err, &op) && op.Op == "dial"
	switch {
	case b.cfg.Protocol != HTTP || b.proxy != nil || dialing || errors.As(err, &record) || errors.As(err, &r) || errors.Is(err, errNotServed):
	case b.target.tls && backend.SpeaksHTTP(ctx, b.target.host):
		return "the server speaks plain HTTP, not TLS; use http:// in -u"
	case !b.target.tls && backend.SpeaksTLS(ctx, b.target.host):
		return "the server speaks TLS; use https:// in -u"
	case b.target.tls && strings.Contains(err.Error(), "TLS handshake timeout"): // net/http has no type for it
		return "no TLS handshake in time; if the server speaks plain HTTP, use http:// in -u"
	}
	return ""
}

// explain turns the error of the first query into one that says what to check. If a server
// listens but does not understand, explain probes it with the other protocol, because the
// most common mistake is the wrong one of the two ports.
func (b *Backend) explain(ctx context.Context, err error) error {
	if text := b.otherScheme(ctx, err); text != "" {
		return errors.New(text)
	}
	if text := b.connectText(err); text != "" {
		if errors.Is(err, syscall.ECONNREFUSED) && b.proxyError(err) == nil {
			text += " (gRPC is usually 8001, HTTP 8000)"
		}
		return errors.New(text)
	}
	if _, ok := errors.AsType[*refusal](err); ok {
		return err // the server speaks this protocol
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if errors.Is(err, errNotServed) {
		if b.cfg.Protocol == HTTP && b.listsModels(ctx) {
			return errors.New("the server does not speak KServe v2 and looks like an OpenAI server; add --service-kind openai")
		}
		return err
	}
	if b.cfg.Protocol == GRPC {
		if b.speaksHTTP(ctx) {
			return errors.New("does not speak gRPC; is this the HTTP port? (gRPC is usually 8001; or use -i http)")
		}
		return err
	}
	if b.speaksGRPC(ctx) {
		return errors.New("speaks gRPC, not HTTP; is this the gRPC port? (HTTP is usually 8000; or use -i grpc)")
	}
	text := brokenText(err, false)
	if errors.Is(err, io.EOF) || strings.HasPrefix(text, "the connection ") {
		text += "; is -u the server's HTTP port? (usually 8000)"
	}
	return errors.New(text)
}
