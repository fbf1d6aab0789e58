package main

// certManager is installed with its chart. Its commands are modules whose names (.../controller-binary) do not match their
// directories (cmd/controller), so the go command cannot download them. The programs in testdata/certmanager run the
// controllers, the webhook and the CA injector of its module with the chart's flags.
var certManager = software{
	name: "cert-manager", job: "a certificate is issued",
	module: "github.com/cert-manager/cert-manager", version: "v1.21.2", sum: "h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=",
	remark: "The module has no commands, and the go command cannot download theirs. Programs of Berth (conformance/software/testdata/certmanager) start the module's unmodified controllers, webhook and CA injector. " +
		"The controllers for Venafi are not built: the Go module proxy did not serve the client library that they require.",
	commands: "certmanager",
	programs: []program{
		{name: "cert-manager-controller", pkg: "./certmanager/controller", flags: certManagerVersion, image: "quay.io/jetstack/cert-manager-controller:v1.21.2", path: "/app/cmd/controller/controller", user: "1000", workDir: "/"},
		{name: "cert-manager-webhook", pkg: "./certmanager/webhook", flags: certManagerVersion, image: "quay.io/jetstack/cert-manager-webhook:v1.21.2", path: "/app/cmd/webhook/webhook", user: "1000", workDir: "/"},
		{name: "cert-manager-cainjector", pkg: "./certmanager/cainjector", flags: certManagerVersion, image: "quay.io/jetstack/cert-manager-cainjector:v1.21.2", path: "/app/cmd/cainjector/cainjector", user: "1000", workDir: "/"},
	},
	setup: []step{
		// As make/manifests.mk of the project does it.
		helm("the chart gets its version", "package --app-version v1.21.2 --version v1.21.2 --destination {source} {source}/deploy/charts/cert-manager"),
		helm("the chart is installed", "upgrade --install cert-manager {source}/cert-manager-v1.21.2.tgz --namespace cert-manager --create-namespace "+
			"--set crds.enabled=true --set crds.keep=false --set startupapicheck.enabled=false --wait --timeout 5m"),
	},
	checks: []step{
		kubectl("all CustomResourceDefinitions are established", "wait --for=condition=Established crd --all --timeout=60s").
			prints(`certificates\.cert-manager\.io condition met`),
		kubectl("the CA of the webhook is injected", "get validatingwebhookconfigurations cert-manager-webhook -o jsonpath={.webhooks[0].clientConfig.caBundle}").prints("^LS0t"),
		apply("a self-signed issuer is created", certManagerIssuer),
		{does: "the webhook denies a certificate without a Secret name", denied: true, want: `admission webhook "webhook\.cert-manager\.io" denied the request: spec\.secretName`,
			args: []string{"create", "-f", "-"}, input: "{apiVersion: cert-manager.io/v1, kind: Certificate, metadata: {name: bad, namespace: default}, spec: {secretName: '', issuerRef: {name: self-signed}, dnsNames: [x]}}"},
		apply("a CA certificate, an issuer with it and a certificate are created", certManagerCertificates),
		kubectl("the CA issuer is ready", "get issuer ca -o jsonpath={.status.conditions[?(@.type=='Ready')].status}").prints("^True$"),
		kubectl("the certificate is issued", "wait --for=condition=Ready certificate/web --timeout=60s").prints("met"),
		kubectl("its Secret has a key pair and the CA", "get secret web -o jsonpath={.type},{.data.ca\\.crt},{.data.tls\\.crt},{.data.tls\\.key}").
			prints("^kubernetes.io/tls,LS0t[^,]*,LS0t[^,]*,LS0t[^,]*$"),
		kubectl("the Secret is deleted", "delete secret web"),
		kubectl("the certificate is issued again", "get secret web -o jsonpath={.data.tls\\.crt}").prints("^LS0t"),
		kubectl("kubectl get shows the columns of the definition", "get certificates web").prints(`READY +SECRET +AGE\s+web +True +web`),
		apply("a cluster issuer and an Ingress with its annotation are created", certManagerIngress),
		kubectl("a certificate for the Ingress is issued", "get certificate shop -o jsonpath={.spec.dnsNames},{.status.conditions[?(@.type=='Ready')].status}").
			prints(`^\["shop\.example\.com"\],True$`),
		kubectl("no container has restarted", "get pods -n cert-manager -o jsonpath={.items[*].status.containerStatuses[*].restartCount}").prints("^0 0 0$"),
		helm("the chart is uninstalled", "uninstall cert-manager --namespace cert-manager --wait"),
		kubectl("the namespace is deleted", "delete namespace cert-manager --timeout=100s"),
		kubectl("its API is no longer served", "get certificates").mustFail(noResource),
	},
}

// certManagerVersion sets the version in the user agent of requests.
const certManagerVersion = "-X github.com/cert-manager/cert-manager/pkg/util.AppVersion=v1.21.2"

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

const certManagerIngress = `
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: self-signed}
spec: {selfSigned: {}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: shop
  namespace: default
  annotations: {cert-manager.io/cluster-issuer: self-signed}
spec:
  tls: [{hosts: [shop.example.com], secretName: shop}]
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}
`
