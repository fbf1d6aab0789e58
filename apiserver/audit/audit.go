package audit

import (
	"errors"
	"fmt"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/options"
)

// Validate returns an error for options that contradict each other. kube-apiserver records nothing
// if a backend is given without a policy; here it is an error.
func Validate(o *options.AuditOptions) error {
	if (o.LogOptions.Path != "" || o.WebhookOptions.ConfigFile != "") && o.PolicyFile == "" {
		return errors.New("--audit-policy-file: must be set with --audit-log-path or --audit-webhook-config-file")
	}
	return errors.Join(o.Validate()...)
}

// Configure makes the server of c record audit events.
func Configure(c *genericapiserver.Config, o *options.AuditOptions) error {
	if err := o.ApplyTo(c); err != nil {
		return fmt.Errorf("configuring audit: %w", err)
	}
	if c.AuditBackend != nil {
		strict := o.LogOptions.BatchOptions.Mode == options.ModeBlockingStrict || o.WebhookOptions.BatchOptions.Mode == options.ModeBlockingStrict
		c.AuditBackend = newBoundedBackend(c.AuditBackend, strict)
	}
	return nil
}
