package apiserver_test

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const smallDefinition = `
metadata: {name: lamps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lamps, kind: Lamp}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {color: {type: string}}}}
`

const smallPolicy = `
metadata: {name: p}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  validations: [{expression: "true"}]
`

const smallMutation = `
metadata: {name: p}
spec:
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: "Object{}"}}]
`

const smallWebhook = `
metadata: {name: w}
webhooks:
- name: w.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  timeoutSeconds: 5
  clientConfig: {url: "https://127.0.0.1:1/x"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [lamps]}]
`

// badInput is an edit that makes an object invalid, and a part of the error.
type badInput struct{ old, new, want string }

var badDefinitions = map[string]badInput{
	"name":                  {"lamps.example.com", "x.example.com", `metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group`},
	"group":                 {"group: example.com", "group: Example", "spec.group: Invalid value"},
	"kind":                  {"kind: Lamp", "kind: L_amp", "spec.names.kind: Invalid value"},
	"scope":                 {"Namespaced", "Global", `spec.scope: Unsupported value: "Global"`},
	"no schema":             {"openAPIV3Schema:\n        type: object\n        properties: {spec: {type: object, properties: {color: {type: string}}}}", "openAPIV3Schema: null", "spec.versions[0].schema.openAPIV3Schema: Required value"},
	"no type":               {"{color: {type: string}}", "{color: {description: x}}", "openAPIV3Schema.properties[spec].properties[color].type: Required value: must not be empty for specified object fields"},
	"unknown type":          {"{color: {type: string}}", "{color: {type: text}}", "properties[color].type: Unsupported value: \"text\""},
	"root is not object":    {"        type: object\n", "        type: string\n", "must be object"},
	"pattern":               {"{color: {type: string}}", `{color: {type: string, pattern: "["}}`, "properties[color].pattern: Invalid value: \"[\": must be a valid regular expression"},
	"array without items":   {"{color: {type: string}}", "{color: {type: array}}", "properties[color].items: Required value: must be specified"},
	"list map without keys": {"{color: {type: string}}", "{color: {type: array, x-kubernetes-list-type: map, items: {type: object}}}", "x-kubernetes-list-map-keys: Required value"},
	"default of other type": {"{color: {type: string}}", "{color: {type: string, default: 5}}", "properties[color].default: Invalid value"},
	"rule does not compile": {"{color: {type: string}}", `{color: {type: string, x-kubernetes-validations: [{rule: "self +"}]}}`, "compilation failed: ERROR: <input>:1:7: Syntax error"},
	"rule is not boolean":   {"{color: {type: string}}", `{color: {type: string, x-kubernetes-validations: [{rule: "self"}]}}`, "must evaluate to a bool"},
	"rule of unknown field": {"{color: {type: string}}", `{color: {type: object, properties: {a: {type: string}}, x-kubernetes-validations: [{rule: "self.b == 'x'"}]}}`, "undefined field 'b'"},
	"rule is too expensive": {"{color: {type: string}}", `{color: {type: array, items: {type: array, items: {type: string}}, x-kubernetes-validations: [{rule: "self.all(x, self.all(y, x.all(a, y.all(b, a == b))))"}]}}`, "estimated rule cost exceeds budget"},
	"no stored version":     {"storage: true", "storage: false", "must have exactly one version marked as storage version"},
	"version":               {"name: v1\n", "name: V1\n", "spec.versions[0].name: Invalid value"},
	"group of Kubernetes":   {"example.com", "lamps.k8s.io", "metadata.annotations[api-approved.kubernetes.io]: Required value"},
	"printer column":        {"    served: true", "    additionalPrinterColumns: [{name: a, type: text, jsonPath: .x}]\n    served: true", "additionalPrinterColumns[0].type: Invalid value"},
	"selectable field":      {"    served: true", "    selectableFields: [{jsonPath: .spec.size}]\n    served: true", "selectableFields[0].jsonPath: Invalid value"},
	"scale without path":    {"    served: true", "    subresources: {scale: {statusReplicasPath: .status.n}}\n    served: true", "specReplicasPath: Required value"},
	"webhook, no address":   {"  scope:", "  conversion: {strategy: Webhook}\n  scope:", "spec.conversion.webhookClientConfig: Required value"},
	"preserveUnknownFields": {"  scope:", "  preserveUnknownFields: true\n  scope:", "spec.preserveUnknownFields: Invalid value: true: cannot set to true"},
}

var badPolicies = map[string]badInput{
	"does not compile":  {`"true"`, `"object.metadata.name +"`, "spec.validations[0].expression: Invalid value: \"object.metadata.name +\": compilation failed"},
	"is not boolean":    {`"true"`, `"'x'"`, "must evaluate to bool"},
	"unknown variable":  {`"true"`, `"variables.x"`, "undefined field 'x'"},
	"parameters":        {`"true"`, `"params.x == 1"`, "undeclared reference to 'params'"},
	"message":           {`"true"}`, `"true", messageExpression: "1"}`, "messageExpression: Invalid value"},
	"reason":            {`"true"}`, `"true", reason: Because}`, `spec.validations[0].reason: Unsupported value: "Because"`},
	"operation":         {"CREATE", "READ", `operations[0]: Unsupported value: "READ"`},
	"match condition":   {"spec:\n", "spec:\n  matchConditions: [{name: m, expression: \"1 +\"}]\n", "spec.matchConditions[0].expression: Invalid value"},
	"nothing validated": {"validations: [{expression: \"true\"}]", "validations: []", "spec.validations: Required value"},
}

var badMutations = map[string]badInput{
	"does not compile": {`"Object{}"`, `"Object{"`, "compilation failed"},
	"other type":       {`"Object{}"`, `"1"`, "must evaluate to Object"},
	"patch type":       {"patchType: ApplyConfiguration", "patchType: Merge", `patchType: Unsupported value: "Merge"`},
	"reinvocation":     {"Never", "Often", `spec.reinvocationPolicy: Unsupported value: "Often"`},
}

var badWebhooks = map[string]badInput{
	"name":                  {"w.example.com", "w", "webhooks[0].name: Invalid value"},
	"timeout":               {"timeoutSeconds: 5", "timeoutSeconds: 31", "the timeout value must be between 1 and 30 seconds"},
	"http":                  {"https:", "http:", `'https' is the only allowed URL scheme`},
	"no address":            {`{url: "https://127.0.0.1:1/x"}`, "{}", "exactly one of url or service is required"},
	"side effects":          {"sideEffects: None", "sideEffects: Some", `webhooks[0].sideEffects: Unsupported value: "Some"`},
	"no review":             {"[v1]\n  side", "[]\n  side", "webhooks[0].admissionReviewVersions: Required value"},
	"wildcard and resource": {"resources: [lamps]", `resources: ["*", lamps]`, "if '*' is present, must not specify other resources without subresources"},
	"condition":             {"  timeoutSeconds", "  matchConditions: [{name: m, expression: \"1 +\"}]\n  timeoutSeconds", "webhooks[0].matchConditions[0].expression: Invalid value"},
}

// TestInvalidConfigurationIsRejected checks that invalid definitions, policies and webhooks are rejected with the
// path of the field, and have no effect on other requests.
func TestInvalidConfigurationIsRejected(t *testing.T) {
	config := start(t).LoopbackConfig()
	definitions := apiextensions.NewForConfigOrDie(config).ApiextensionsV1().CustomResourceDefinitions()
	client := kubernetes.NewForConfigOrDie(config)
	admission := client.AdmissionregistrationV1()
	var options metav1.CreateOptions
	checkRejected(t, "definition", smallDefinition, badDefinitions, func(text string) error {
		_, err := definitions.Create(t.Context(), decode[apiextensionsv1.CustomResourceDefinition](t, text), options)
		return err
	})
	checkRejected(t, "policy", smallPolicy, badPolicies, func(text string) error {
		_, err := admission.ValidatingAdmissionPolicies().Create(t.Context(), decode[admissionregistrationv1.ValidatingAdmissionPolicy](t, text), options)
		return err
	})
	checkRejected(t, "mutation", smallMutation, badMutations, func(text string) error {
		_, err := admission.MutatingAdmissionPolicies().Create(t.Context(), decode[admissionregistrationv1.MutatingAdmissionPolicy](t, text), options)
		return err
	})
	checkRejected(t, "webhook", smallWebhook, badWebhooks, func(text string) error {
		_, err := admission.ValidatingWebhookConfigurations().Create(t.Context(), decode[admissionregistrationv1.ValidatingWebhookConfiguration](t, text), options)
		return err
	})
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap("x"), options); err != nil {
		t.Errorf("create of a ConfigMap after all invalid objects: %v, want no error", err)
	}
}

// checkRejected creates each invalid object, then the valid one.
func checkRejected(t *testing.T, kind, valid string, cases map[string]badInput, create func(text string) error) {
	t.Helper()
	for name, c := range cases {
		if !strings.Contains(valid, c.old) {
			t.Fatalf("%s %s: the valid object does not contain %q", kind, name, c.old)
		}
		if err := create(strings.ReplaceAll(valid, c.old, c.new)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s:\n got %v\n want %s", kind, name, err, c.want)
		}
	}
	if err := create(valid); err != nil {
		t.Errorf("valid %s: %v, want no error", kind, err)
	}
}
