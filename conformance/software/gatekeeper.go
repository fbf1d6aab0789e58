package main

// gatekeeper is installed with its manifest. Its webhooks enforce policies written in Rego.
var gatekeeper = software{
	name: "Gatekeeper", job: "a policy denies a request",
	module: "github.com/open-policy-agent/gatekeeper/v3", version: "v3.18.0", sum: "h1:Sdt0jDcD2pe02pfnh5GlIwAEMs+Z4GhbbnwsE31smNs=",
	programs: []program{{
		name: "gatekeeper", pkg: ".", image: "openpolicyagent/gatekeeper:v3.18.0", pulled: true, path: "/manager", user: "65532:65532", workDir: "/",
	}},
	setup: []step{
		kubectl("the manifest deploy/gatekeeper.yaml is applied", "apply --server-side -f {source}/deploy/gatekeeper.yaml"),
		kubectl("the controller is available", "-n gatekeeper-system rollout status deployment/gatekeeper-controller-manager --timeout=300s"),
		kubectl("the audit is available", "-n gatekeeper-system rollout status deployment/gatekeeper-audit --timeout=300s"),
	},
	checks: []step{
		kubectl("all CustomResourceDefinitions are established", "wait --for=condition=Established crd --all --timeout=60s").
			prints(`constrainttemplates\.templates\.gatekeeper\.sh condition met`),
		// Its pods are ready before the volume with their certificate is updated and their webhook listens.
		kubectl("a namespace without labels is created", "create namespace before").prints("created"),
		apply("a constraint template in Rego is created", gatekeeperTemplate),
		apply("a constraint of the new kind is created", gatekeeperConstraint),
		kubectl("a namespace without the label is denied", "create namespace denied --dry-run=server").
			mustFail(`admission webhook "validation\.gatekeeper\.sh" denied the request: .*missing labels: \{"owner"\}`),
		apply("a namespace with the label is admitted", "{apiVersion: v1, kind: Namespace, metadata: {name: admitted, labels: {owner: me}}}"),
		apply("a constraint template in CEL is created", gatekeeperNativeTemplate),
		kubectl("Gatekeeper generates a ValidatingAdmissionPolicy", "get validatingadmissionpolicy gatekeeper-k8sowner -o jsonpath={.spec.paramKind.kind},{.status.typeChecking}").
			prints("^K8sOwner,"),
		apply("a constraint that the API server enforces is created", gatekeeperNativeConstraint),
		kubectl("Gatekeeper generates a ValidatingAdmissionPolicyBinding", "get validatingadmissionpolicybinding gatekeeper-owner -o jsonpath={.spec.paramRef.name}").
			prints("^owner$"),
		kubectl("the API server denies a ConfigMap", "create configmap denied --dry-run=server").
			mustFail("ValidatingAdmissionPolicy 'gatekeeper-k8sowner' with binding 'gatekeeper-owner' denied request: an owner is required"),
		apply("a mutation is created", gatekeeperMutation),
		{does: "a webhook applies the mutation to a new ConfigMap", want: "^done$", args: []string{"create", "-f", "-", "--dry-run=server", "-o", "jsonpath={.metadata.annotations.mutated}"},
			input: "{apiVersion: v1, kind: ConfigMap, metadata: {name: mutated, namespace: default, labels: {owner: me}}}"},
		kubectl("the audit reports the namespace that existed before", "get k8srequiredlabels owner -o jsonpath={.status.violations[*].name}").prints(`\bbefore\b`),
		kubectl("the policies are deleted", "delete k8srequiredlabels,k8sowner,constrainttemplate,assignmetadata --all --timeout=100s"),
		kubectl("the definitions and policies that it generated are deleted", "get crd,validatingadmissionpolicy,validatingadmissionpolicybinding -o jsonpath={.items[*].metadata.name}").
			prints(`^(\S+\.(externaldata|expansion|config|mutations|status|syncset|templates|connection)\.gatekeeper\.sh ?)+$`),
		kubectl("everything is uninstalled", "delete -f {source}/deploy/gatekeeper.yaml --timeout=100s"),
		kubectl("its namespace is deleted", "get namespace gatekeeper-system").mustFail("NotFound"),
	},
}

const gatekeeperTemplate = `
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8srequiredlabels}
spec:
  crd:
    spec:
      names: {kind: K8sRequiredLabels}
      validation:
        openAPIV3Schema:
          type: object
          properties:
            labels: {type: array, items: {type: string}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package k8srequiredlabels
      violation[{"msg": msg}] {
        provided := {label | input.review.object.metadata.labels[label]}
        required := {label | label := input.parameters.labels[_]}
        missing := required - provided
        count(missing) > 0
        msg := sprintf("missing labels: %v", [missing])
      }
`

const gatekeeperConstraint = `
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sRequiredLabels
metadata: {name: owner}
spec:
  match:
    kinds: [{apiGroups: [""], kinds: [Namespace]}]
  parameters: {labels: [owner]}
`

const gatekeeperNativeTemplate = `
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: k8sowner}
spec:
  crd:
    spec:
      names: {kind: K8sOwner}
      validation:
        openAPIV3Schema:
          type: object
          properties:
            label: {type: string}
  targets:
  - target: admission.k8s.gatekeeper.sh
    code:
    - engine: K8sNativeValidation
      source:
        generateVAP: true
        validations:
        - expression: has(object.metadata.labels) && variables.params.label in object.metadata.labels
          message: an owner is required
`

const gatekeeperNativeConstraint = `
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: K8sOwner
metadata: {name: owner}
spec:
  enforcementAction: scoped
  scopedEnforcementActions: [{action: deny, enforcementPoints: [{name: vap.k8s.io}]}]
  match:
    kinds: [{apiGroups: [""], kinds: [ConfigMap]}]
    namespaces: [default]
  parameters: {label: owner}
`

const gatekeeperMutation = `
apiVersion: mutations.gatekeeper.sh/v1
kind: AssignMetadata
metadata: {name: mutated}
spec:
  match: {scope: Namespaced, kinds: [{apiGroups: [""], kinds: [ConfigMap]}]}
  location: metadata.annotations.mutated
  parameters: {assign: {value: done}}
`
