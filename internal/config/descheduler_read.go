package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/descheduling"
)

// policyReader compiles a policy.
type policyReader struct {
	*diagnostics
	hasMetrics bool // metrics.k8s.io is enabled
	// v1alpha1Paths maps v1alpha2 paths to the v1alpha1 paths they were converted from.
	v1alpha1Paths map[string]string
}

// decodePolicy decodes a document of either version as v1alpha2.
func (f *policyReader) decodePolicy(d Document, o DeschedulerReadOptions) (*policyV1Alpha2, error) {
	must := fmt.Sprintf("must be %s %s", DeschedulerAPIVersion, DeschedulerKind)
	switch {
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerAPIVersion:
		form := &policyV1Alpha2{}
		js := d.JSON
		if o.IgnoreUnknown {
			js = f.dropUnknownFields(js)
		}
		f.decode("", js, form)
		return form, nil
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerV1Alpha1 && !o.RejectV1Alpha1:
		old := &policyV1Alpha1{}
		f.decode("", d.JSON, old)
		return f.convertV1Alpha1(old), nil
	case d.Kind == DeschedulerKind && d.APIVersion == DeschedulerV1Alpha1:
		must = "is no longer supported: `berth descheduler convert` converts it to " + DeschedulerAPIVersion
	}
	return nil, fmt.Errorf("%s: %s %s: %s", d.File, d.APIVersion, d.Kind, must)
}

// dropUnknownFields turns errors about unknown fields outside plugin arguments into
// warnings.
func (f *policyReader) dropUnknownFields(js []byte) []byte {
	var seen diagnostics
	var form policyV1Alpha2
	seen.decode("", js, &form)
	for _, err := range seen.errs {
		if path, _, unknown := strings.Cut(err.Error(), ": unknown field; "); unknown {
			f.warnf("%s: unknown field, ignored as the Kubernetes descheduler does", path)
			continue
		}
		return js // it has other errors
	}
	if clean, err := json.Marshal(&form); err == nil {
		return clean
	}
	return js
}

func (f *policyReader) compilePolicy(in *policyV1Alpha2) descheduling.Policy {
	out := descheduling.Policy{
		NodeSelector: f.parseSelector("nodeSelector", derefOr(in.NodeSelector, "")),
		Limits: descheduling.Limits{PerNode: f.compileLimit("maxNoOfPodsToEvictPerNode", in.MaxNoOfPodsToEvictPerNode),
			PerNamespace: f.compileLimit("maxNoOfPodsToEvictPerNamespace", in.MaxNoOfPodsToEvictPerNamespace), Total: f.compileLimit("maxNoOfPodsToEvictTotal", in.MaxNoOfPodsToEvictTotal)},
		Grace:                 in.GracePeriodSeconds,
		EvictionFailureEvents: derefOr(in.EvictionFailureEventNotification, false),
	}
	f.requireAtLeast("gracePeriodSeconds", derefOr(in.GracePeriodSeconds, 0), 0)
	f.checkMetricsProviders(in)
	if len(in.Profiles) == 0 && len(f.errs) == 0 {
		f.warnf("profiles: none: nothing is moved")
	}
	for i := range in.Profiles {
		out.Profiles = append(out.Profiles, f.compileProfile(fmt.Sprintf("profiles[%d]", i), &in.Profiles[i]))
	}
	return out
}

// compileLimit validates a limit; nil means no limit.
func (f *policyReader) compileLimit(path string, v *int64) *int {
	if v == nil {
		return nil
	}
	f.requireAtLeast(path, *v, 0)
	f.requireAtMost(path, *v, maxSeconds)
	n := int(*v)
	return &n
}

// checkMetricsProviders validates the metrics providers.
func (f *policyReader) checkMetricsProviders(in *policyV1Alpha2) {
	var sources []string
	for i, p := range in.MetricsProviders {
		at := fmt.Sprintf("metricsProviders[%d].source", i)
		switch {
		case slices.Contains(sources, p.Source):
			f.errorf("%s: %q: duplicate value", at, p.Source)
		case p.Source == "Prometheus":
			f.errorf("%s: Prometheus: is not supported; must be %s", at, kubernetesMetrics)
		case p.Source != kubernetesMetrics:
			f.errorf("%s: %q: must be %s", at, p.Source, kubernetesMetrics)
		}
		sources = append(sources, p.Source)
	}
	f.hasMetrics = len(sources) > 0
	if c := in.MetricsCollector; c != nil {
		if len(sources) > 0 && c.Enabled {
			f.errorf("metricsCollector.enabled: true: cannot be given together with metricsProviders")
		}
		f.hasMetrics = f.hasMetrics || c.Enabled
	}
}

// finish returns all errors, with the paths of the original file.
func (f *policyReader) finish(file string) error {
	var out []error
	for _, err := range f.errs {
		out = append(out, fmt.Errorf("%s: %s", file, f.translatePath(err.Error())))
	}
	for i := range f.warnings {
		f.warnings[i] = file + ": " + f.translatePath(f.warnings[i])
	}
	return errors.Join(out...)
}

// translatePath replaces a leading v1alpha2 path by the v1alpha1 path it was converted
// from.
func (f *policyReader) translatePath(s string) string {
	longest := ""
	for path := range f.v1alpha1Paths {
		if len(path) > len(longest) && strings.HasPrefix(s, path) && (len(s) == len(path) || strings.ContainsRune(".:[", rune(s[len(path)]))) {
			longest = path
		}
	}
	if longest == "" {
		return s
	}
	return f.v1alpha1Paths[longest] + s[len(longest):]
}
