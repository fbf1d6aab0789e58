package main

// certManager is installed with its chart. The commands of releases since v1.12 are modules whose names do not match their
// directories, so the go command cannot download them; the module of v1.11 contains them.
var certManager = software{
	name: "cert-manager", job: "a certificate is issued",
	module: "github.com/cert-manager/cert-manager", version: "v1.11.5", sum: "h1:K2LurvwIE4hIhODQZnkOW6ljYe3lVMAliS/to+gI05o=",
	reason: "v1.11.5 is the last release line whose module contains the commands. Those of v1.21.2 are modules whose names do not match their directories, so the go command cannot download them.",
	programs: []program{
		{name: "cert-manager-controller", pkg: "./cmd/controller", image: "quay.io/jetstack/cert-manager-controller:v1.11.5", path: "/app/cmd/controller/controller", user: "1000", workDir: "/"},
		{name: "cert-manager-webhook", pkg: "./cmd/webhook", image: "quay.io/jetstack/cert-manager-webhook:v1.11.5", path: "/app/cmd/webhook/webhook", user: "1000", workDir: "/"},
		{name: "cert-manager-cainjector", pkg: "./cmd/cainjector", image: "quay.io/jetstack/cert-manager-cainjector:v1.11.5", path: "/app/cmd/cainjector/cainjector", user: "1000", workDir: "/"},
	},
	setup: []step{
		// As make/manifests.mk of the project does it: the chart gets its CustomResourceDefinitions and its version.
		{does: "the chart is assembled", program: "sh", args: []string{"-c", "cd {source}/deploy/charts/cert-manager && cp Chart.template.yaml Chart.yaml && " +
			"{ for f in ../../crds/crd-*.yaml; do echo ---; cat $f; done; } > templates/crds.yaml"}},
		helm("the chart gets its version", "package --app-version v1.11.5 --version v1.11.5 --destination {source} {source}/deploy/charts/cert-manager"),
		helm("the chart is installed", "upgrade --install cert-manager {source}/cert-manager-v1.11.5.tgz --namespace cert-manager --create-namespace "+
			"--set installCRDs=true --set startupapicheck.enabled=false --wait --timeout 5m"),
	},
	checks: []step{
		kubectl("all CustomResourceDefinitions are established", "wait --for=condition=Established crd --all --timeout=60s").
			prints(`certificates\.cert-manager\.io condition met`),
		kubectl("the CA of the webhook is injected", "get validatingwebhookconfigurations cert-manager-webhook -o jsonpath={.webhooks[0].clientConfig.caBundle}").prints("^LS0t"),
		apply("a self-signed issuer is created", certManagerIssuer),
		{does: "the webhook denies a certificate without a Secret name", denied: true, want: "admission webhook .* denied|secretName",
			args: []string{"create", "-f", "-"}, input: "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: bad, namespace: default}, spec: {secretName: '', issuerRef: {name: self-signed}, dnsNames: [x]}}"},
		apply("a CA certificate, an issuer with it and a certificate are created", certManagerCertificates),
		kubectl("the CA issuer is ready", "get issuer ca -o jsonpath={.status.conditions[?(@.type=='Ready')].status}").prints("^True$"),
		kubectl("the certificate is issued", "wait --for=condition=Ready certificate/web --timeout=60s").prints("met"),
		kubectl("its Secret has a key pair and the CA", "get secret web -o jsonpath={.type},{.data.ca\\.crt},{.data.tls\\.crt},{.data.tls\\.key}").
			prints("^kubernetes.io/tls,LS0t[^,]*,LS0t[^,]*,LS0t[^,]*$"),
		kubectl("the Secret is deleted", "delete secret web"),
		kubectl("the certificate is issued again", "get secret web -o jsonpath={.data.tls\\.crt}").prints("^LS0t"),
		kubectl("kubectl get shows the columns of the definition", "get certificates web").prints(`READY +SECRET +AGE\s+web +True +web`),
		helm("the chart is uninstalled", "uninstall cert-manager --namespace cert-manager --wait"),
		kubectl("the namespace is deleted", "delete namespace cert-manager --timeout=100s"),
		kubectl("its API is gone", "get certificates").isDenied(noResource),
	},
}

const certManagerIssuer = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: self-signed, namespace: default}
spec: {selfSigned: {}}
`

const certManagerCertificates = `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: ca, namespace: default}
spec:
  isCA: true
  commonName: ca
  secretName: ca
  issuerRef: {name: self-signed}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: ca, namespace: default}
spec: {ca: {secretName: ca}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: default}
spec:
  secretName: web
  dnsNames: [web.default.svc]
  issuerRef: {name: ca}
`
