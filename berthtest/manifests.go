package berthtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/berthproject/berth/apiserver/auth/pki"
)

// WebhookServer is the address at which the API server calls webhooks.
type WebhookServer struct {
	// Host and Port are the address that the test must listen on, with TLS.
	Host string
	Port int
	// CertDir has the serving certificate: tls.crt and tls.key.
	CertDir string
}

var crds = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// createCRDs creates the CustomResourceDefinitions and waits until they are served.
func (c *Cluster) createCRDs(ctx context.Context) error {
	for _, o := range c.options.crdObjects {
		if _, err := c.dynamic.Resource(crds).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating CustomResourceDefinition %s: %w", o.GetName(), err)
		}
	}
	for _, o := range c.options.crdObjects {
		if err := c.awaitCondition(ctx, crds, "", o.GetName(), "Established", "True"); err != nil {
			return fmt.Errorf("waiting for CustomResourceDefinition %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// createWebhooks selects the address of the webhook server and creates the configurations.
func (c *Cluster) createWebhooks(ctx context.Context) error {
	if len(c.options.webhookObjects) == 0 {
		return nil
	}
	err := c.prepareWebhookServer()
	if err != nil {
		return err
	}
	for _, o := range c.options.webhookObjects {
		if o.GetKind() == "MutatingWebhookConfiguration" {
			err = c.createMutatingWebhooks(ctx, o)
		} else {
			err = c.createValidatingWebhooks(ctx, o)
		}
		if err != nil {
			return fmt.Errorf("creating %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// prepareWebhookServer selects a free port and writes the serving certificate.
func (c *Cluster) prepareWebhookServer() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	c.Webhook = WebhookServer{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, CertDir: filepath.Join(c.dir, "webhook")}
	if err := listener.Close(); err != nil {
		return err
	}
	cert, key, err := c.server.Authority().ServingPEM("webhook", pki.APIServerAltNames(nil))
	if err != nil {
		return err
	}
	if err := os.Mkdir(c.Webhook.CertDir, 0o700); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(c.Webhook.CertDir, "tls.crt"), cert, 0o600),
		os.WriteFile(filepath.Join(c.Webhook.CertDir, "tls.key"), key, 0o600))
}

func (c *Cluster) createMutatingWebhooks(ctx context.Context, manifest *unstructured.Unstructured) error {
	var o admissionv1.MutatingWebhookConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest.Object, &o, true); err != nil {
		return err
	}
	for i := range o.Webhooks {
		c.redirect(&o.Webhooks[i].ClientConfig)
	}
	_, err := c.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(ctx, &o, metav1.CreateOptions{})
	return err
}

func (c *Cluster) createValidatingWebhooks(ctx context.Context, manifest *unstructured.Unstructured) error {
	var o admissionv1.ValidatingWebhookConfiguration
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(manifest.Object, &o, true); err != nil {
		return err
	}
	for i := range o.Webhooks {
		c.redirect(&o.Webhooks[i].ClientConfig)
	}
	_, err := c.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(ctx, &o, metav1.CreateOptions{})
	return err
}

// redirect replaces a Service with the address of the webhook server.
func (c *Cluster) redirect(config *admissionv1.WebhookClientConfig) {
	if config.Service == nil {
		return
	}
	path := ""
	if config.Service.Path != nil {
		path = *config.Service.Path
	}
	url := fmt.Sprintf("https://%s:%d%s", c.Webhook.Host, c.Webhook.Port, path)
	*config = admissionv1.WebhookClientConfig{URL: &url, CABundle: c.server.Authority().CAPEM()}
}

// readObjects reads the objects of these kinds. A file in paths must not contain other kinds. In directories,
// objects of other kinds are ignored, such as a kustomization.
func readObjects(paths []string, kinds ...string) (out []*unstructured.Unstructured, err error) {
	for _, path := range paths {
		files := []string{path}
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if info.IsDir() {
			if files, err = manifestsIn(path); err != nil {
				return nil, err
			}
		}
		for _, file := range files {
			objects, err := readFile(file)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			for _, o := range objects {
				if slices.Contains(kinds, o.GetKind()) {
					out = append(out, o)
				} else if !info.IsDir() {
					return nil, fmt.Errorf("%s: kind %q: must be one of %q", file, o.GetKind(), kinds)
				}
			}
		}
	}
	return out, nil
}

// manifestsIn returns the YAML and JSON files of a directory.
func manifestsIn(dir string) (files []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(e.Name())) {
			files = append(files, filepath.Join(dir, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: contains no .yaml, .yml or .json file", dir)
	}
	return files, nil
}

func readFile(file string) (out []*unstructured.Unstructured, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &o.Object); err != nil {
			return nil, err
		}
		if len(o.Object) > 0 { // a document may have only comments
			out = append(out, o)
		}
	}
}
