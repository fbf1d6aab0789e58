package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/descheduling"
)

type policyReader struct {
	*diagnostics
	hasMetrics bool // metrics.k8s.io is enabled
	// v1alpha1Paths maps v1alpha2 paths to the v1alpha1 paths they were converted from.
	v1alpha1Paths map[string]string
}

// decodePolicy decodes a document of either version as v1alpha2.
func (r *policyReader) decodePolicy(d Document, o DeschedulerReadOptions) (*policyV1Alpha2, error) {
	problem := fmt.Sprintf("must be %s %s", DeschedulerAPIVersion, DeschedulerKind)
	switch {
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerAPIVersion:
		policy := &policyV1Alpha2{}
		js := d.JSON
		if o.IgnoreUnknown {
			js = r.dropUnknownFields(js)
		}
		r.decode("", js, policy)
		return policy, nil
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerV1Alpha1 && !o.RejectV1Alpha1:
		source := &policyV1Alpha1{}
		r.decode("", d.JSON, source)
		return r.convertV1Alpha1(source), nil
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerV1Alpha1:
		problem = "is no longer supported: `berth descheduler convert` converts it to " + DeschedulerAPIVersion
	}
	return nil, fmt.Errorf("%s: %s %s: %s", d.File, d.APIVersion, d.Kind, problem)
}

// dropUnknownFields returns js without unknown fields outside plugin arguments, with a warning for each. It returns
// js unchanged if the policy has other errors.
func (r *policyReader) dropUnknownFields(js []byte) []byte {
	var strict diagnostics
	var policy policyV1Alpha2
	strict.decode("", js, &policy)
	for _, err := range strict.errs {
		if path, _, unknown := strings.Cut(err.Error(), ": unknown field; "); unknown {
			r.warnf("%s: unknown field, ignored as the Kubernetes descheduler does", path)
			continue
		}
		return js // it has other errors
	}
	if cleaned, err := json.Marshal(&policy); err == nil {
		return cleaned
	}
	return js
}

func (r *policyReader) compilePolicy(in *policyV1Alpha2) descheduling.Policy {
	out := descheduling.Policy{
		NodeSelector: r.parseSelector("nodeSelector", derefOr(in.NodeSelector, "")),
		Limits: descheduling.Limits{PerNode: r.compileLimit("maxNoOfPodsToEvictPerNode", in.MaxNoOfPodsToEvictPerNode),
			PerNamespace: r.compileLimit("maxNoOfPodsToEvictPerNamespace", in.MaxNoOfPodsToEvictPerNamespace), Total: r.compileLimit("maxNoOfPodsToEvictTotal", in.MaxNoOfPodsToEvictTotal)},
		Grace:                 in.GracePeriodSeconds,
		EvictionFailureEvents: derefOr(in.EvictionFailureEventNotification, false),
	}
	r.requireAtLeast("gracePeriodSeconds", derefOr(in.GracePeriodSeconds, 0), 0)
	r.checkMetricsProviders(in)
	if len(in.Profiles) == 0 && len(r.errs) == 0 {
		r.warnf("profiles: none: nothing is moved")
	}
	for i := range in.Profiles {
		out.Profiles = append(out.Profiles, r.compileProfile(fmt.Sprintf("profiles[%d]", i), &in.Profiles[i]))
	}
	return out
}

// compileLimit validates a limit; nil means no limit.
func (r *policyReader) compileLimit(path string, v *int64) *int {
	if v == nil {
		return nil
	}
	r.requireAtLeast(path, *v, 0)
	r.requireAtMost(path, *v, maxSeconds)
	n := int(*v)
	return &n
}

func (r *policyReader) checkMetricsProviders(in *policyV1Alpha2) {
	var sources []string
	for i, p := range in.MetricsProviders {
		path := fmt.Sprintf("metricsProviders[%d].source", i)
		switch {
		case slices.Contains(sources, p.Source):
			r.errorf("%s: %q: duplicate value", path, p.Source)
		case p.Source == "Prometheus":
			r.errorf("%s: Prometheus: is not supported; must be %s", path, kubernetesMetrics)
		case p.Source != kubernetesMetrics:
			r.errorf("%s: %q: must be %s", path, p.Source, kubernetesMetrics)
		}
		sources = append(sources, p.Source)
	}
	r.hasMetrics = len(sources) > 0
	if c := in.MetricsCollector; c != nil {
		if len(sources) > 0 && c.Enabled {
			r.errorf("metricsCollector.enabled: true: cannot be given together with metricsProviders")
		}
		r.hasMetrics = r.hasMetrics || c.Enabled
	}
}

// finish returns all errors, with the paths of the original file.
func (r *policyReader) finish(file string) error {
	var out []error
	for _, err := range r.errs {
		out = append(out, fmt.Errorf("%s: %s", file, r.translatePath(err.Error())))
	}
	for i := range r.warnings {
		r.warnings[i] = file + ": " + r.translatePath(r.warnings[i])
	}
	return errors.Join(out...)
}

// translatePath replaces a leading v1alpha2 path with the v1alpha1 path it was converted
// from.
func (r *policyReader) translatePath(s string) string {
	longest := ""
	for path := range r.v1alpha1Paths {
		if len(path) > len(longest) && strings.HasPrefix(s, path) && (len(s) == len(path) || strings.ContainsRune(".:[", rune(s[len(path)]))) {
			longest = path
		}
	}
	if longest == "" {
		return s
	}
	return r.v1alpha1Paths[longest] + s[len(longest):]
}
