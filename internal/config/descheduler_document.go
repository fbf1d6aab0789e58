package config

import (
	"cmp"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"
)

// policyKey is the key of the policy in the ConfigMap of the descheduler's chart.
const policyKey = "policy.yaml"

// DeschedulerDocument returns the policy in a file. The file contains a DeschedulerPolicy, the values of the
// descheduler's chart, or a ConfigMap with a policy under the key policy.yaml, also among other objects.
func DeschedulerDocument(file string) (Document, error) {
	data, err := readFile(file)
	if err != nil {
		return Document{}, err
	}
	var policies, documents []Document
	numOthers := 0
	err = SplitDocuments(file, data, func(doc []byte) error {
		js, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return err
		}
		var wrapper struct {
			APIVersion    string                     `json:"apiVersion"`
			Kind          string                     `json:"kind"`
			Data          map[string]string          `json:"data"`
			Policy        map[string]json.RawMessage `json:"deschedulerPolicy"`
			PolicyVersion string                     `json:"deschedulerPolicyAPIVersion"`
		}
		decodeErr := json.Unmarshal(js, &wrapper)
		switch text, ok := wrapper.Data[policyKey]; {
		case decodeErr == nil && wrapper.Kind == "ConfigMap" && ok:
			return SplitDocuments(file+": ConfigMap data["+policyKey+"]", []byte(text), func(doc []byte) error {
				d, err := parseDocument(file+": ConfigMap data["+policyKey+"]", doc)
				policies = append(policies, d)
				return err
			})
		case decodeErr == nil && wrapper.APIVersion == "" && wrapper.Policy != nil: // kind is CronJob or Deployment
			d, err := policyOfValues(file, wrapper.Policy, wrapper.PolicyVersion)
			policies = append(policies, d)
			return err
		}
		d, err := parseDocument(file, doc)
		if err == nil && d.Kind != DeschedulerKind {
			numOthers++
		}
		documents = append(documents, d)
		return err
	})
	if err != nil {
		return Document{}, err
	}
	if len(policies) == 0 {
		policies = documents
	} else {
		numOthers = 0 // the other objects of the chart
	}
	if len(policies) != 1 || numOthers > 0 || policies[0].Kind != DeschedulerKind {
		return Document{}, fmt.Errorf("%s: has %d documents, must have one %s, a ConfigMap with the key %s, or the chart's values with the key deschedulerPolicy", file, len(policies), DeschedulerKind, policyKey)
	}
	return policies[0], nil
}

// policyOfValues returns the policy in the values of the chart. Like the chart, it adds apiVersion and kind.
func policyOfValues(file string, policy map[string]json.RawMessage, version string) (Document, error) {
	if _, hasStrategies := policy["strategies"]; hasStrategies && version == "" {
		version = DeschedulerV1Alpha1 // the chart is older than deschedulerPolicyAPIVersion
	}
	d := Document{File: file + ": deschedulerPolicy", APIVersion: cmp.Or(version, DeschedulerAPIVersion), Kind: DeschedulerKind}
	fields := map[string]any{"apiVersion": d.APIVersion, "kind": d.Kind}
	for name, value := range policy {
		fields[name] = value
	}
	var err error
	d.JSON, err = json.Marshal(fields)
	return d, err
}
