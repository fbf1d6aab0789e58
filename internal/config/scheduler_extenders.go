package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/order"
	"github.com/berthproject/berth/engine/placement/framework"
)

const (
	extenderTimeout = 5 * time.Second // kube-scheduler's default
	maxExtenders    = 100
	maxWeight       = 1 << 20 // keeps the sum of scores within an int64
)

// Extender is an HTTP extender with kube-scheduler's defaults.
type Extender struct {
	// URL has no trailing slash. Messages use it to identify the extender.
	URL string
	// Filter, Prioritize, Preempt and Bind are appended to URL after a slash. Empty disables
	// the call.
	Filter, Prioritize, Preempt, Bind string
	Weight                            int64         // multiplies its scores
	Timeout                           time.Duration // per call
	// NodeCacheCapable extenders receive node names and victim UIDs only.
	NodeCacheCapable bool
	// Ignorable extenders are skipped if they fail.
	Ignorable bool
	// Managed lists the managed resources, sorted. The extender is called only for pods that
	// name one of them; for all pods if empty.
	Managed []string
	// TLS configures HTTPS.
	TLS schedulerv1.ExtenderTLSConfig
}

// IsInterested reports whether the extender handles a pod: as in kube-scheduler, if a
// container names a managed resource in its requests, even with amount 0. Limits without
// requests count, too, because the API server copies them.
func (e *Extender) IsInterested(pod *model.Pod) bool {
	if len(e.Managed) == 0 {
		return true
	}
	return slices.ContainsFunc(pod.Spec.Requests.Scalars, func(s model.Scalar) bool {
		_, ok := slices.BinarySearch(e.Managed, s.Name)
		return ok
	})
}

// Extenders lists the HTTP extenders in the order of their calls.
type Extenders []Extender

// AnyInterested reports whether an extender filters or scores nodes for a pod. It depends
// only on the pod's spec.
func (x Extenders) AnyInterested(pod *model.Pod) bool {
	return slices.ContainsFunc(x, func(e Extender) bool { return (e.Filter != "" || e.Prioritize != "") && e.IsInterested(pod) })
}

// AnySupportsPreemption reports whether an extender takes part in the preemption for a
// pod.
func (x Extenders) AnySupportsPreemption(pod *model.Pod) bool {
	return slices.ContainsFunc(x, func(e Extender) bool { return e.Preempt != "" && e.IsInterested(pod) })
}

// compileExtenders returns the extenders in calling order: ignorable ones last, as in
// kube-scheduler. ignored lists the resources that NodeResourcesFit must ignore.
func compileExtenders(diags *diagnostics, in []schedulerv1.Extender) (out Extenders, ignored []string) {
	if len(in) > maxExtenders {
		diags.errorf("extenders: %d given: must be at most %d", len(in), maxExtenders)
	}
	binder, managed := -1, map[string]string{}
	for i := range in {
		path := fmt.Sprintf("extenders[%d]", i)
		e := compileExtender(diags, path, &in[i])
		if e.Bind != "" && binder >= 0 {
			diags.errorf("%s.bindVerb: %q: extenders[%d] binds already; only one extender can", path, e.Bind, binder)
		} else if e.Bind != "" {
			binder = i
		}
		for j, r := range in[i].ManagedResources {
			namePath := fmt.Sprintf("%s.managedResources[%d].name", path, j)
			validateManagedResource(diags, namePath, r.Name)
			if firstPath, duplicate := managed[r.Name]; duplicate {
				diags.errorf("%s: %q: duplicate value, first at %s", namePath, r.Name, firstPath)
			}
			managed[r.Name] = namePath
			if r.IgnoredByScheduler {
				ignored = append(ignored, r.Name)
			}
		}
		out = append(out, e)
	}
	slices.SortStableFunc(out, func(a, b Extender) int { return order.TrueFirst(!a.Ignorable, !b.Ignorable) })
	return out, ignored
}

func compileExtender(diags *diagnostics, path string, in *schedulerv1.Extender) Extender {
	e := Extender{
		URL: strings.TrimRight(in.URLPrefix, "/"), Filter: in.FilterVerb, Prioritize: in.PrioritizeVerb,
		Preempt: in.PreemptVerb, Bind: in.BindVerb, Weight: in.Weight, Timeout: cmp.Or(in.HTTPTimeout.Duration, extenderTimeout),
		NodeCacheCapable: in.NodeCacheCapable, Ignorable: in.Ignorable,
	}
	u, err := url.Parse(in.URLPrefix)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		diags.errorf("%s.urlPrefix: %q: must be http:// or https:// with a host and perhaps a path, such as http://127.0.0.1:8888/scheduler", path, in.URLPrefix)
	}
	if e.Prioritize != "" && (e.Weight < 1 || e.Weight > maxWeight) {
		diags.errorf("%s.weight: %d: must be between 1 and %d with a prioritizeVerb", path, in.Weight, maxWeight)
	}
	if e.Timeout < 0 {
		diags.errorf("%s.httpTimeout: %v: must not be negative; leave it out for %v", path, e.Timeout, extenderTimeout)
	}
	for _, r := range in.ManagedResources {
		e.Managed = append(e.Managed, r.Name)
	}
	slices.Sort(e.Managed)
	if e.Filter == "" && e.Prioritize == "" && e.Preempt == "" && e.Bind == "" {
		diags.warnf("%s: %s has no verb and is never called", path, in.URLPrefix)
	}
	compileExtenderTLS(diags, path, in, &e)
	return e
}

// compileExtenderTLS compiles the TLS configuration. As in kube-scheduler, enableHTTPS
// without a CA disables certificate verification.
func compileExtenderTLS(diags *diagnostics, path string, in *schedulerv1.Extender, e *Extender) {
	if in.TLSConfig != nil {
		e.TLS = *in.TLSConfig
	}
	hasCA := e.TLS.CAFile != "" || len(e.TLS.CAData) > 0
	if hasCA && e.TLS.Insecure {
		diags.errorf("%s.tlsConfig.insecure: true: must be false with a caFile or caData", path)
	}
	if cert, key := e.TLS.CertFile != "" || len(e.TLS.CertData) > 0, e.TLS.KeyFile != "" || len(e.TLS.KeyData) > 0; cert != key {
		diags.errorf("%s.tlsConfig: a client certificate needs both certFile or certData and keyFile or keyData; only one is given", path)
	}
	switch https := strings.HasPrefix(in.URLPrefix, "https:"); {
	case in.EnableHTTPS && !hasCA && !e.TLS.Insecure:
		e.TLS.Insecure = true
		diags.warnf("%s.enableHTTPS: true without tlsConfig.caFile or caData: the certificate of %s is not checked, as in kube-scheduler", path, in.URLPrefix)
	case (in.EnableHTTPS || in.TLSConfig != nil) && !https:
		diags.warnf("%s.urlPrefix: %s is reached without TLS; enableHTTPS and tlsConfig have no effect", path, in.URLPrefix)
	}
}

func validateManagedResource(diags *diagnostics, path, name string) {
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		diags.errorf("%s: %q: %s", path, name, strings.Join(problems, "; "))
	} else if !model.IsExtendedResource(name) {
		diags.errorf("%s: %q: must be an extended resource, such as example.com/gpu", path, name)
	}
}

// ignoreManagedResources adds resources to Fit.IgnoredResources of each profile.
func ignoreManagedResources(profiles []framework.Config, ignored []string) {
	for i := range profiles {
		profiles[i].Fit.IgnoredResources = slices.Concat(profiles[i].Fit.IgnoredResources, ignored)
	}
}
