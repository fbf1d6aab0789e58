package executor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/internal/config"
)

// Extenders carries out what the scheduling machine asks of HTTP extenders. A nil one
// has none and must be asked nothing.
type Extenders struct {
	list       []*extender
	objects    *objectCache
	convertPod func(*corev1.Pod) *model.Pod
	scoring    atomic.Int64
	// OnIgnoredError is told of calls that failed without failing the pod: those of
	// ignorable extenders, and all that score. Set it before use; may be nil.
	OnIgnoredError func(extender, verb string, err error)
}

// NewExtenders makes clients of extenders; nil when there are none. Files of
// certificates are read now. Run must be called for anything else to work well:
// without it every pod and node that is sent is read from the API server.
// Compile makes a model of a pod that an extender names and the machine did not.
func NewExtenders(client kubernetes.Interface, list config.Extenders, compile func(*corev1.Pod) *model.Pod) (*Extenders, error) {
	if len(list) == 0 {
		return nil, nil
	}
	x := &Extenders{convertPod: compile, objects: newObjectCache(client, list)}
	var errs []error
	for i := range list {
		transport, err := newTransport(&list[i])
		if err != nil {
			errs = append(errs, fmt.Errorf("extender %s: tlsConfig: %w", list[i].URL, err))
			continue
		}
		x.list = append(x.list, &extender{Extender: list[i], maxResponse: maxResponseBytes,
			http: &http.Client{Transport: transport, Timeout: list[i].Timeout}})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return x, nil
}

// newTransport is how an extender is reached.
func newTransport(e *config.Extender) (http.RoundTripper, error) {
	t := e.TLS
	c, err := rest.TLSConfigFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: t.Insecure, ServerName: t.ServerName,
		CertFile: t.CertFile, KeyFile: t.KeyFile, CAFile: t.CAFile, CertData: t.CertData, KeyData: t.KeyData, CAData: t.CAData}})
	if err != nil {
		return nil, err
	}
	return &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: 100, IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second}, nil
}

// Run follows the objects that extenders are sent, until the context ends.
func (x *Extenders) Run(ctx context.Context) {
	if x != nil {
		x.objects.run(ctx)
	}
}

// MaxDuration is how long an Ask, an AskVictims or a Bind can take at most.
func (x *Extenders) MaxDuration() time.Duration {
	if x == nil {
		return 0
	}
	var filter, score time.Duration // filters one after the other, scores at once
	for _, e := range x.list {
		filter += e.Timeout
		score = max(score, e.Timeout)
	}
	return filter + score + readMargin
}

// Scoring is how many extenders are scoring nodes now.
func (x *Extenders) Scoring() int64 {
	if x == nil {
		return 0
	}
	return x.scoring.Load()
}

// reportIgnored tells of an error that does not fail the pod.
func (x *Extenders) reportIgnored(e *extender, verb string, err error) {
	if x.OnIgnoredError != nil {
		x.OnIgnoredError(e.URL, verb, err)
	}
}
