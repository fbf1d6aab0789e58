// Package certificates has preparation and validation of CertificateSigningRequests.
package certificates
