package config

import (
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/berthproject/berth/engine/descheduling"
)

// The API versions of a descheduler's policy: that of today, and that with strategies, which the Kubernetes
// descheduler has not read since 0.31.
const (
	DeschedulerAPIVersion = "descheduler/v1alpha2"
	DeschedulerV1Alpha1   = "descheduler/v1alpha1"
	DeschedulerKind       = "DeschedulerPolicy"
)

// Descheduler is a DeschedulerPolicy, read.
type Descheduler struct {
	Policy descheduling.Policy
	// Warnings tell what was converted, or accepted without having an effect.
	Warnings []string
}

// DeschedulerReadOptions says where files are read as the Kubernetes descheduler 0.36 does.
type DeschedulerReadOptions struct {
	// IgnoreUnknown: unknown fields outside of a plugin's arguments are warnings.
	IgnoreUnknown bool
	// RejectV1Alpha1: v1alpha1 is refused, rather than converted.
	RejectV1Alpha1 bool
}

// ReadDescheduler decodes a policy of either version. What cannot be is refused with path, value and what
// would be right, all at once.
func ReadDescheduler(d Document, how DeschedulerReadOptions) (Descheduler, error) {
	f := &policyReader{diagnostics: &diagnostics{}}
	form, err := f.decodePolicy(d, how)
	if err != nil {
		return Descheduler{}, err
	}
	out := Descheduler{Policy: f.compilePolicy(form)}
	if err := f.finish(d.File); err != nil {
		return Descheduler{}, err
	}
	out.Warnings = f.warnings
	return out, nil
}

// ConvertDescheduler writes a policy of either version in the form of v1alpha2, as YAML, with a warning for each
// field that was converted.
func ConvertDescheduler(d Document) (yaml []byte, warnings []string, err error) {
	f := &policyReader{diagnostics: &diagnostics{}}
	form, err := f.decodePolicy(d, DeschedulerReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	f.compilePolicy(form)
	if err := f.finish(d.File); err != nil {
		return nil, nil, err
	}
	form.APIVersion, form.Kind = DeschedulerAPIVersion, DeschedulerKind
	yaml, err = sigsyaml.Marshal(form)
	return yaml, f.warnings, err
}
