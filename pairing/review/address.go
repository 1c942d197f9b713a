package review

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// pageURL is where a browser opens a page that listens on an address, with a token.
func pageURL(address, token string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		host = address // it was taken apart before
	}
	// What stands in a host name and isn't fit for an address must not end it early.
	host = strings.ReplaceAll(url.PathEscape(openable(host, ownAddresses)), "@", "%40")
	return "http://" + net.JoinHostPort(host, port) + "/?" + url.Values{"token": {token}}.Encode()
}

// openable is a host that a browser can open for one that is listened on: where that
// means every address of the machine, an address by which others reach it.
func openable(host string, own func() []netip.Addr) string {
	ip, err := netip.ParseAddr(host)
	every := host == "" || err == nil && ip.IsUnspecified()
	if !every {
		return host
	}
	only6 := err == nil && ip.Is6()
	best := netip.Addr{}
	for _, a := range own() {
		a = a.Unmap()
		if a.IsLoopback() || a.IsLinkLocalUnicast() || !a.IsGlobalUnicast() {
			continue
		}
		// Older networks know the shorter numbers alone, and listening on [::] takes both.
		if !best.IsValid() || best.Is6() && a.Is4() {
			best = a
		}
	}
	switch {
	case best.IsValid():
		return best.String()
	case only6:
		return "::1"
	}
	return "127.0.0.1"
}

// ownAddresses are those of this machine, as far as it tells.
func ownAddresses() []netip.Addr {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil // this machine alone can open it then
	}
	var list []netip.Addr
	for _, f := range found {
		if n, ok := f.(*net.IPNet); ok {
			if a, ok := netip.AddrFromSlice(n.IP); ok {
				list = append(list, a)
			}
		}
	}
	return slices.Clip(list)
}

// Loopback says whether an address (host:port) can be reached from this machine alone.
func Loopback(address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("the address %q: %w; want host:port, as in 127.0.0.1:0", address, err)
	}
	if host == "localhost" {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback(), nil
}
