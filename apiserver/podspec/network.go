package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Bounds of a resolver's configuration.
const (
	mostNameservers   = 3
	mostSearchPaths   = 32
	longestSearchList = 2048
)

func (c *podCheck) dnsConfig(path *field.Path) {
	config := c.spec.DNSConfig
	if c.spec.DNSPolicy == corev1.DNSNone {
		if config == nil {
			c.required(path, fmt.Sprintf("must provide `dnsConfig` when `dnsPolicy` is %s", corev1.DNSNone))
			return
		}
		if len(config.Nameservers) == 0 {
			c.required(path.Child("nameservers"), fmt.Sprintf("must provide at least one DNS nameserver when `dnsPolicy` is %s", corev1.DNSNone))
			return
		}
	}
	if config == nil {
		return
	}
	if len(config.Nameservers) > mostNameservers {
		c.invalid(path.Child("nameservers"), config.Nameservers, fmt.Sprintf("must not have more than %d nameservers", mostNameservers))
	}
	for i, server := range config.Nameservers {
		c.ip(server, path.Child("nameservers").Index(i))
	}
	searches := path.Child("searches")
	if len(config.Searches) > mostSearchPaths {
		c.invalid(searches, config.Searches, fmt.Sprintf("must not have more than %d search paths", mostSearchPaths))
	}
	if len(strings.Join(config.Searches, " ")) > longestSearchList {
		c.invalid(searches, config.Searches,
			fmt.Sprintf("must not have more than %d characters (including spaces) in the search list", longestSearchList))
	}
	for i, search := range config.Searches {
		if search != "." {
			search = strings.TrimSuffix(search, ".")
			c.invalidEach(searches.Index(i), search, validation.IsDNS1123SubdomainWithUnderscore(search))
		}
	}
	for i, option := range config.Options {
		if option.Name == "" {
			c.required(path.Child("options").Index(i), "must not be empty")
		}
	}
}

// ip accepts the lax forms that this field always took.
func (r *report) ip(address string, path *field.Path) {
	r.add(validation.IsValidIPForLegacyField(path, address, false, nil)...)
}

func (c *podCheck) hostAliases(path *field.Path) {
	for i, alias := range c.spec.HostAliases {
		own := path.Index(i)
		c.ip(alias.IP, own.Child("ip"))
		for j, name := range alias.Hostnames {
			c.invalidEach(own.Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name))
		}
	}
}
