package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/berthproject/berth/parity/process"
)

// deployed is the process that a file of deploy/ describes.
type deployed struct {
	account, namespace string
	config             string // content of the configuration file
	args               []string
}

// deploy creates the objects of a file of deploy/ except the Deployment, whose process this command
// starts.
func (c *cluster) deploy(ctx context.Context, file string) (*deployed, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &deployed{}
	for documents := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(raw))); ; {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return d, nil
		}
		if err != nil {
			return nil, err
		}
		if err := c.apply(ctx, d, document); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
}

func (c *cluster) apply(ctx context.Context, d *deployed, document []byte) error {
	if len(bytes.TrimSpace(document)) == 0 {
		return nil
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		return err
	}
	var o metav1.CreateOptions
	switch v := object.(type) {
	case *corev1.ServiceAccount:
		d.account, d.namespace = v.Name, v.Namespace
		_, err = c.client.CoreV1().ServiceAccounts(v.Namespace).Create(ctx, v, o)
	case *corev1.ConfigMap:
		for _, content := range v.Data {
			d.config = content
		}
		_, err = c.client.CoreV1().ConfigMaps(v.Namespace).Create(ctx, v, o)
	case *rbacv1.ClusterRole:
		_, err = c.client.RbacV1().ClusterRoles().Create(ctx, v, o)
	case *rbacv1.ClusterRoleBinding:
		_, err = c.client.RbacV1().ClusterRoleBindings().Create(ctx, v, o)
	case *rbacv1.Role:
		_, err = c.client.RbacV1().Roles(v.Namespace).Create(ctx, v, o)
	case *rbacv1.RoleBinding:
		_, err = c.client.RbacV1().RoleBindings(v.Namespace).Create(ctx, v, o)
	case *appsv1.Deployment:
		d.args = v.Spec.Template.Spec.Containers[0].Args
	default:
		err = fmt.Errorf("%T: unsupported kind of object", object)
	}
	return err
}

// schedule starts the scheduler as the Deployment would, with its service account.
func (c *cluster) schedule(ctx context.Context, berth string, d *deployed) (*process.Process, error) {
	kubeconfig, err := c.credential(ctx, d, "scheduler")
	if err != nil {
		return nil, err
	}
	config := c.authority.file("config.yaml")
	if err := os.WriteFile(config, []byte(d.config), 0o600); err != nil {
		return nil, err
	}
	args := []string{}
	for _, a := range d.args {
		if strings.HasPrefix(a, "--config=") {
			a = "--config=" + config
		}
		if strings.HasPrefix(a, "--metrics-bind-address=") {
			a = "--metrics-bind-address=127.0.0.1:0"
		}
		args = append(args, a)
	}
	p, err := process.Start(exec.CommandContext(ctx, berth, append(args, "--kubeconfig", kubeconfig)...))
	if err != nil {
		return nil, err
	}
	c.processes = append(c.processes, p)
	return p, p.WaitUntil(ctx, func() bool { return p.HasOutput("Caches are synced") })
}
