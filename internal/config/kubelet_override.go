package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// flagSource replaces the name of the file in messages about fields that flags have set.
const flagSource = "flags"

// OverrideKubelet returns a KubeletConfiguration with some top-level fields replaced, as the
// kubelet's flags do. d is nil if there is no file.
func OverrideKubelet(d *Document, fields map[string]any) (Document, error) {
	out := Document{File: flagSource, APIVersion: KubeletAPIVersion, Kind: KubeletKind, JSON: []byte("{}")}
	if d != nil {
		out = *d
	}
	values := map[string]any{"apiVersion": out.APIVersion, "kind": out.Kind}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(out.JSON, &values); err != nil {
		return out, fmt.Errorf("%s: %w", out.File, err)
	}
	maps.Copy(values, fields)
	out.FlagFields = slices.Sorted(maps.Keys(fields))
	var err error
	out.JSON, err = json.Marshal(values)
	return out, err
}

// sourceOf returns where the field in a message of the form "FIELD...: TEXT" comes from: the file, or flags.
func (d *Document) sourceOf(message string) string {
	field := message
	if end := strings.IndexAny(message, ".[:"); end >= 0 {
		field = message[:end]
	}
	if slices.Contains(d.FlagFields, field) {
		return flagSource
	}
	return d.File
}
