package config

import (
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/berthproject/berth/engine/descheduling"
)

// API versions of DeschedulerPolicy. The Kubernetes descheduler dropped v1alpha1, with
// strategies instead of profiles, in 0.31.
const (
	DeschedulerAPIVersion = "descheduler/v1alpha2"
	DeschedulerV1Alpha1   = "descheduler/v1alpha1"
	DeschedulerKind       = "DeschedulerPolicy"
)

// Descheduler is a compiled DeschedulerPolicy.
type Descheduler struct {
	Policy descheduling.Policy
	// Warnings lists converted fields and fields without effect.
	Warnings []string
}

// DeschedulerReadOptions selects behavior of the Kubernetes descheduler 0.36.
type DeschedulerReadOptions struct {
	// IgnoreUnknown turns unknown fields outside plugin arguments into warnings.
	IgnoreUnknown bool
	// RejectV1Alpha1 refuses v1alpha1 instead of converting it.
	RejectV1Alpha1 bool
}

// ReadDescheduler compiles a policy of either version. It returns all errors at once, each
// with path, value and accepted values.
func ReadDescheduler(d Document, o DeschedulerReadOptions) (Descheduler, error) {
	r := &policyReader{diagnostics: &diagnostics{}}
	policy, err := r.decodePolicy(d, o)
	if err != nil {
		return Descheduler{}, err
	}
	out := Descheduler{Policy: r.compilePolicy(policy)}
	if err := r.finish(d.File); err != nil {
		return Descheduler{}, err
	}
	out.Warnings = r.warnings
	return out, nil
}

// ConvertDescheduler returns a policy of either version as v1alpha2 YAML, with a warning
// for each converted field.
func ConvertDescheduler(d Document) (yaml []byte, warnings []string, err error) {
	r := &policyReader{diagnostics: &diagnostics{}}
	policy, err := r.decodePolicy(d, DeschedulerReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	r.compilePolicy(policy)
	if err := r.finish(d.File); err != nil {
		return nil, nil, err
	}
	policy.APIVersion, policy.Kind = DeschedulerAPIVersion, DeschedulerKind
	yaml, err = sigsyaml.Marshal(policy)
	return yaml, r.warnings, err
}
