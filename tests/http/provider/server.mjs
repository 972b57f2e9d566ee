// A real identity provider for the tests: oidc-provider, which the OpenID Foundation has certified, with its own login forms.
// Keys and clients come from the test, in PROVIDER; the issuer's address goes to the standard output once it listens.
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const { keys, clients } = JSON.parse(process.env.PROVIDER);
const about = (sub) => ({ sub, email: `${sub}@example.org`, email_verified: sub !== 'mallory' });

const server = createServer();
server.listen(0, '127.0.0.1', () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    jwks: { keys },
    clients,
    claims: { email: ['email', 'email_verified'], profile: ['name'] },
    scopes: ['openid', 'email', 'profile'],
    findAccount: (_, sub) => ({ accountId: sub, claims: () => about(sub) }),
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'PS256', 'ES256', 'EdDSA'] },
    cookies: { keys: ['for tests'] },
    ttl: { AccessToken: 600, AuthorizationCode: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    extraTokenClaims: (_, token) => (token.accountId ? about(token.accountId) : undefined),
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_, resource) => ({
          audience: resource,
          scope: 'ask',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
  server.on('request', provider.callback());
  console.log(issuer);
});
