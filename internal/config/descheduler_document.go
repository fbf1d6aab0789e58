package config

import (
	"encoding/json"
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"
)

// policyKey is the key of the policy in the ConfigMap of the descheduler's chart.
const policyKey = "policy.yaml"

// DeschedulerDocument returns the policy in a file: a DeschedulerPolicy, a ConfigMap whose key
// policy.yaml holds one, also among other objects, or the values of the descheduler's chart.
func DeschedulerDocument(file string) (Document, error) {
	data, err := readFile(file)
	if err != nil {
		return Document{}, err
	}
	var found, plain []Document
	others := 0
	err = SplitDocuments(file, data, func(doc []byte) error {
		js, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return err
		}
		var wrapper struct {
			Object     string                     `json:"apiVersion"`
			Kind       string                     `json:"kind"`
			Data       map[string]string          `json:"data"`
			Policy     map[string]json.RawMessage `json:"deschedulerPolicy"`
			APIVersion string                     `json:"deschedulerPolicyAPIVersion"`
		}
		decodeErr := json.Unmarshal(js, &wrapper)
		switch text, has := wrapper.Data[policyKey]; {
		case decodeErr == nil && wrapper.Kind == "ConfigMap" && has:
			return SplitDocuments(file+": ConfigMap data["+policyKey+"]", []byte(text), func(doc []byte) error {
				d, err := parseDocument(file+": ConfigMap data["+policyKey+"]", doc)
				found = append(found, d)
				return err
			})
		case decodeErr == nil && wrapper.Object == "" && wrapper.Policy != nil: // kind is CronJob or Deployment
			d, err := policyOfValues(file, wrapper.Policy, wrapper.APIVersion)
			found = append(found, d)
			return err
		}
		d, err := parseDocument(file, doc)
		if err == nil && d.Kind != DeschedulerKind {
			others++
		}
		plain = append(plain, d)
		return err
	})
	if err != nil {
		return Document{}, err
	}
	if len(found) == 0 {
		found, others = plain, others*len(plain)
	} else {
		others = 0 // the other objects of the chart
	}
	if len(found) != 1 || others > 0 || found[0].Kind != DeschedulerKind {
		return Document{}, fmt.Errorf("%s: has %d documents, must have one %s, a ConfigMap with the key %s, or the chart's values with the key deschedulerPolicy", file, len(found), DeschedulerKind, policyKey)
	}
	return found[0], nil
}

// policyOfValues returns the policy in the values of the chart, which adds its apiVersion and
// kind.
func policyOfValues(file string, policy map[string]json.RawMessage, version string) (Document, error) {
	if _, old := policy["strategies"]; old && version == "" {
		version = DeschedulerV1Alpha1 // of charts before deschedulerPolicyAPIVersion
	}
	d := Document{File: file + ": deschedulerPolicy", APIVersion: valueOr(version, DeschedulerAPIVersion), Kind: DeschedulerKind}
	fields := map[string]any{"apiVersion": d.APIVersion, "kind": d.Kind}
	for name, value := range maps.All(policy) {
		fields[name] = value
	}
	var err error
	d.JSON, err = json.Marshal(fields)
	return d, err
}
