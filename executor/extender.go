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

// Extenders calls the HTTP extenders of the scheduler. A nil *Extenders has none; only Run, Bind, MaxDuration and
// Scoring may be called on it.
type Extenders struct {
	list       []*extender
	objects    *objectCache
	convertPod func(*corev1.Pod) *model.Pod
	scoring    atomic.Int64
	// OnIgnoredError is called with errors that do not fail the pod: all errors of ignorable extenders, and all errors
	// of prioritize calls. Set it before use. It may be nil.
	OnIgnoredError func(extender, verb string, err error)
}

// NewExtenders returns clients of the extenders, or nil if there are none. It reads certificate files immediately.
// Until Run is called, every pod and node that is sent to an extender is read from the API server. convertPod converts
// victims that an extender adds.
func NewExtenders(client kubernetes.Interface, list config.Extenders, convertPod func(*corev1.Pod) *model.Pod) (*Extenders, error) {
	if len(list) == 0 {
		return nil, nil
	}
	x := &Extenders{convertPod: convertPod, objects: newObjectCache(client, list)}
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

// Run watches the objects that are sent to extenders until ctx is done.
func (x *Extenders) Run(ctx context.Context) {
	if x != nil {
		x.objects.run(ctx)
	}
}

// MaxDuration returns the upper bound of the duration of FilterAndPrioritize, ProcessPreemption and Bind.
func (x *Extenders) MaxDuration() time.Duration {
	if x == nil {
		return 0
	}
	var filter, score time.Duration // filters run in sequence, prioritize calls in parallel
	for _, e := range x.list {
		filter += e.Timeout
		score = max(score, e.Timeout)
	}
	return filter + score + readMargin
}

// Scoring returns how many prioritize calls are in flight.
func (x *Extenders) Scoring() int64 {
	if x == nil {
		return 0
	}
	return x.scoring.Load()
}

// reportIgnored reports an error that does not fail the pod.
func (x *Extenders) reportIgnored(e *extender, verb string, err error) {
	if x.OnIgnoredError != nil {
		x.OnIgnoredError(e.URL, verb, err)
	}
}
