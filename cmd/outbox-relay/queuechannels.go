package main

import (
	"context"
	"net"

	"cloud.google.com/go/firestore"
	"github.com/wneessen/go-mail"
	"go.uber.org/zap"

	"outboxrelay/relay/workqueue/jobs"
)

// Channels of jobs beside in_app, as their documents name them.
const (
	channelEmail  = "email"
	channelPubSub = "pubsub"
)

// Values of --smtp-tls.
const (
	smtpImplicitTLS = "tls"
	smtpNoTLS       = "none"
)

// smtpConfig is where channel email sends; without a host nowhere.
type smtpConfig struct {
	host           string
	port           int
	from           string
	user, password string
	tls            string
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// options are go-mail's.
func (c smtpConfig) options() []mail.Option {
	options := []mail.Option{mail.WithPort(c.port)}
	switch c.tls {
	case smtpImplicitTLS:
		options = append(options, mail.WithSSL())
	case smtpNoTLS:
		options = append(options, mail.WithTLSPolicy(mail.NoTLS))
	default:
		options = append(options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if c.user != "" {
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(c.user), mail.WithPassword(c.password))
	}
	return options
}

// openChannels makes the channels of jobs that the configuration has. A job of another is
// dead at once: to wait would spend its attempts on what only a deployment mends, and
// a person has it tried again in one step then.
func (s *service) openChannels(ctx context.Context, docs *firestore.Client, cfg serviceConfig) (map[string]jobs.Channel, error) {
	channels := map[string]jobs.Channel{jobs.ChannelInApp: jobs.NewInApp(docs)}
	var without []string
	if smtp := cfg.queues.smtp; smtp.host != "" {
		email, err := jobs.NewEmail(smtp.host, smtp.from, jobs.UserAddress(docs), smtp.options()...)
		if err != nil {
			return nil, err
		}
		channels[channelEmail] = email
	} else {
		without = append(without, channelEmail)
	}
	if topic := cfg.catalog.JobsTopic; topic != "" {
		client, err := cfg.place.DialPubSub(ctx)
		if err != nil {
			return nil, err
		}
		s.cleanUp("jobs' Pub/Sub client", func(context.Context) error { return client.Close() })
		channels[channelPubSub] = jobs.NewPubSub(client, topic)
	} else {
		without = append(without, channelPubSub)
	}
	if len(without) > 0 {
		s.log.Warn("channels of jobs are not configured: jobs for them are dead at once (--smtp-host, --jobs-topic)", zap.Strings("channels", without))
	}
	if len(cfg.catalog.Templates) == 0 {
		s.log.Warn("the catalog has no templates: in_app and pubsub messages have no text, and mails are dead at once")
	}
	return channels, nil
}
