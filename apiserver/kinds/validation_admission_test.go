package kinds

import (
	"strings"
	"testing"
)

// TestAdmissionCreate validates new webhook configurations and policies.
func TestAdmissionCreate(t *testing.T) {
	const (
		rule    = `{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["pods"]}`
		webhook = `"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[` + rule + `]`
		url     = `"clientConfig":{"url":"https://x/"},`
		matches = `"matchConstraints":{"resourceRules":[` + rule + `]}`
	)
	for text, want := range map[string]string{
		`ValidatingWebhookConfiguration {"webhooks":[{"name":"a.b.c",` + url + webhook + `}]}`:                                                                   "",
		`ValidatingWebhookConfiguration {"webhooks":[{"name":"a",` + url + webhook + `}]}`:                                                                       "webhooks[0].name: should be a domain with at least three segments separated by dots",
		`ValidatingWebhookConfiguration {"webhooks":[{"name":"a.b.c",` + url + webhook + `},{"name":"a.b.c",` + url + webhook + `}]}`:                            "webhooks[1].name: ",
		`ValidatingWebhookConfiguration {"webhooks":[{"name":"a.b.c","clientConfig":{},` + webhook + `}]}`:                                                       "webhooks[0].clientConfig: exactly one of url or service is required",
		`ValidatingWebhookConfiguration {"webhooks":[{"name":"a.b.c",` + url + `"admissionReviewVersions":["v1"]}]}`:                                             "webhooks[0].sideEffects: must specify one of None, NoneOnDryRun",
		`MutatingWebhookConfiguration {"webhooks":[{"name":"a.b.c",` + url + webhook + `,"timeoutSeconds":31}]}`:                                                 "webhooks[0].timeoutSeconds: the timeout value must be between 1 and 30 seconds",
		`MutatingWebhookConfiguration {"webhooks":[{"name":"a.b.c",` + url + `"sideEffects":"None","admissionReviewVersions":["v9"]}]}`:                          "webhooks[0].admissionReviewVersions: must include at least one of [v1 v1beta1]",
		`MutatingWebhookConfiguration {"webhooks":[{"name":"a.b.c",` + url + webhook + `,"matchConditions":[{"name":"n","expression":"object.x ="}]}]}`:          "webhooks[0].matchConditions[0].expression: compilation failed",
		`ValidatingAdmissionPolicy {"spec":{` + matches + `,"validations":[{"expression":"object.x == 1"}]}}`:                                                    "",
		`ValidatingAdmissionPolicy {"spec":{"validations":[{"expression":"true"}]}}`:                                                                             "spec.matchConstraints: ",
		`ValidatingAdmissionPolicy {"spec":{` + matches + `}}`:                                                                                                   "spec.validations: validations or auditAnnotations must contain at least one item",
		`ValidatingAdmissionPolicy {"spec":{` + matches + `,"validations":[{"expression":"1"}]}}`:                                                                "spec.validations[0].expression: must evaluate to bool",
		`ValidatingAdmissionPolicy {"spec":{` + matches + `,"validations":[{"expression":"variables.a"}],"variables":[{"name":"a","expression":"1"}]}}`:          "spec.validations[0].expression: must evaluate to bool",
		`ValidatingAdmissionPolicy {"spec":{` + matches + `,"validations":[{"expression":"params.x"}]}}`:                                                         "spec.validations[0].expression: compilation failed",
		`ValidatingAdmissionPolicyBinding {"spec":{"policyName":"p","validationActions":["Deny","Warn"]}}`:                                                       "spec.validationActions: must not contain both Deny and Warn",
		`ValidatingAdmissionPolicyBinding {"spec":{"policyName":"p","validationActions":["Deny"],"paramRef":{"parameterNotFoundAction":"Deny"}}}`:                "spec.paramRef: one of name or selector must be specified",
		`MutatingAdmissionPolicy {"spec":{"reinvocationPolicy":"Never",` + matches + `}}`:                                                                        "spec.mutations: must contain at least one item",
		`MutatingAdmissionPolicy {"spec":{"reinvocationPolicy":"Never",` + matches + `,"mutations":[{"patchType":"JSONPatch"}]}}`:                                "spec.mutations[0].jsonPatch: must be specified when patchType is JSONPatch",
		`MutatingAdmissionPolicy {"spec":{"reinvocationPolicy":"Never",` + matches + `,"mutations":[{"patchType":"JSONPatch","jsonPatch":{"expression":"1"}}]}}`: "spec.mutations[0].jsonPatch.expression: must evaluate to list(JSONPatch)",
		`MutatingAdmissionPolicyBinding {"spec":{}}`:                                                                                                             "spec.policyName: ",
	} {
		_, got := createObject(t, "admissionregistration.k8s.io/v1 "+text)
		if (want == "") != (got == "") || !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %q\n want %q", text, got, want)
		}
	}
}
