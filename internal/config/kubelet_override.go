package config

import (
	"encoding/json"
	"fmt"
	"maps"

	kjson "sigs.k8s.io/json"
)

// OverrideKubelet returns a KubeletConfiguration with some top-level fields replaced, as the
// kubelet's flags do. d is nil if there is no file.
func OverrideKubelet(d *Document, fields map[string]any) (Document, error) {
	out := Document{File: "flags", APIVersion: KubeletAPIVersion, Kind: KubeletKind, JSON: []byte("{}")}
	if d != nil {
		out = *d
	}
	values := map[string]any{"apiVersion": out.APIVersion, "kind": out.Kind}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(out.JSON, &values); err != nil {
		return out, fmt.Errorf("%s: %w", out.File, err)
	}
	maps.Copy(values, fields)
	var err error
	out.JSON, err = json.Marshal(values)
	return out, err
}
