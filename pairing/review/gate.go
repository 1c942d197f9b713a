package review

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// gate lets requests in that come from the page itself. The token is proven once, with
// the address that was printed, and by a cookie from then on; what changes something
// shows it once more in a header, which no foreign page can set.
type gate struct {
	token  string
	cookie string
	port   string
	// host is the name that the address was given with, or empty where it is a number
	// that means every address of the machine.
	host string
}

// tokenHeader carries the token of requests that change something.
const tokenHeader = "X-Doubletake-Token"

const shortestToken = 16

func newGate(token, address string) (*gate, error) {
	if len(token) < shortestToken || strings.ContainsFunc(token, notInToken) {
		return nil, fmt.Errorf("the token must be %d letters, digits, - or _ at least", shortestToken)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("the address %q: %w", address, err)
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = ""
	}
	sum := sha256.Sum256([]byte(token))
	// Cookies do not tell ports apart: each token has one of its own.
	return &gate{token: token, cookie: "doubletake-" + hex.EncodeToString(sum[:4]), host: host, port: port}, nil
}

func notInToken(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
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

// guard refuses what does not come from the page, before anything else looks at it.
func (g *gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "+
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if err := g.origin(r); err != nil {
			refuse(w, http.StatusForbidden, err)
			return
		}
		if given := r.URL.Query().Get("token"); given != "" && r.URL.Path == "/" && r.Method == http.MethodGet && g.is(given) {
			http.SetCookie(w, &http.Cookie{Name: g.cookie, Value: g.token, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
			// The token leaves the address line, and with it the browser's history.
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
		if cookie, err := r.Cookie(g.cookie); err != nil || !g.is(cookie.Value) {
			refuse(w, http.StatusUnauthorized, errors.New("no token: open the address that doubletake review printed, with all that stands behind its ?"))
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead && !g.is(r.Header.Get(tokenHeader)) {
			refuse(w, http.StatusForbidden, errors.New("a change without the page's token: reload the page"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (g *gate) is(token string) bool {
	return subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) == 1
}

// origin says what is wrong with where a request goes to and comes from.
func (g *gate) origin(r *http.Request) error {
	if !g.ours(r.Host) {
		return fmt.Errorf("the request is for the host %q, which this is not", visible(r.Host))
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
		// A link may lead here, and then shows the token; anything else may not.
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Method != http.MethodGet {
			return errors.New("the request comes from another site")
		}
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	from, err := url.Parse(origin)
	if err != nil || from.Scheme != "http" || from.Host != r.Host {
		return fmt.Errorf("the request comes from %q, not from this page", visible(origin))
	}
	return nil
}

// ours says whether a Host header names this server: by the name or number that it
// listens on, or by a number or localhost where it listens on all. No other name is
// taken, so that none can be made to point here.
func (g *gate) ours(header string) bool {
	host, port, err := net.SplitHostPort(header)
	if err != nil {
		host, port = strings.Trim(header, "[]"), "80"
	}
	if port != g.port || host == "" {
		return false
	}
	if strings.EqualFold(host, g.host) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	number := err == nil
	if g.host == "" {
		return number || strings.EqualFold(host, "localhost")
	}
	loopback, err := Loopback(net.JoinHostPort(g.host, g.port))
	return err == nil && loopback && (strings.EqualFold(host, "localhost") || number && ip.IsLoopback())
}
