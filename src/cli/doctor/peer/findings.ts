import { error, findingOf, note, type Outcome, ok } from '../check.js';
import type { Finding } from '../diagnosis.js';
import type { ReachError, ReachKind } from './connection.js';
import type { Delivery } from './messages.js';
import type { Attempt, Target } from './probe.js';

const GROUP = 'Peer';

const RULES =
  'Traffic of EFA passes only by rules that name the security group itself: 0.0.0.0/0 does not match\n' +
  'it. SG is the security group that both interfaces are in:\n' +
  'aws ec2 authorize-security-group-egress --group-id SG --ip-permissions \\\n' +
  "  'IpProtocol=-1,UserIdGroupPairs=[{GroupId=SG}]'\n" +
  'aws ec2 authorize-security-group-ingress --group-id SG --protocol -1 --source-group SG';

/** The finding for TCP. `failure` is undefined if it worked. */
export function tcpFinding({ host, port }: Target, failure?: ReachError): Finding {
  const check = {
    id: 'peer.tcp',
    title: `TCP to ${host}, port ${port}`,
    expected: 'a doctor that listens there',
    why: 'The two sides tell each other their addresses of EFA over it.',
  };
  if (failure === undefined) return findingOf(check, GROUP, ok('connected'));
  const [meaning, fix] = reachText(failure.kind, port);
  return findingOf(check, GROUP, error(`${meaning} (${failure.message})`, fix));
}

function reachText(kind: ReachKind, port: number): [meaning: string, fix: string] {
  switch (kind) {
    case 'unknown-host':
      return ['unknown host: the name has no address', 'Give its private IP address instead.'];
    case 'no-route':
      return [
        'no route: no way leads to that host',
        'Look at the address, and at the route tables of the subnets: both hosts in one VPC.',
      ];
    case 'dropped':
      return [
        'dropped: nothing answers, so something on the way drops what is sent',
        'Let TCP through between the hosts; SG is the security group that both are in:\n' +
          `aws ec2 authorize-security-group-ingress --group-id SG --protocol tcp --port ${port} --source-group SG\n` +
          'Then look at the network ACLs of the subnets, and whether the host is up.',
      ];
    case 'refused':
      return [
        'refused: the host is there, and nothing listens at that port',
        `On that host: npx libfabric doctor --listen --port ${port}`,
      ];
    case 'not-a-doctor':
      return [
        'what listens there is not the doctor, or has ended',
        `On that host, with this release of the package: npx libfabric doctor --listen --port ${port}`,
      ];
    case 'failed':
      return ['it does not work', 'Look at what the peer says.'];
  }
}

/** The finding for one attempt over the fabric. */
export function fabricFinding(attempt: Attempt): Finding {
  const check = {
    id: 'peer.fabric',
    title: `${attempt.domain} to ${attempt.peerDomain}`,
    expected: 'a message there and one back, over EFA',
    why: 'It takes the security groups of both hosts: TCP may pass where EFA does not.',
  };
  return findingOf(check, GROUP, fabricOutcome(attempt));
}

function fabricOutcome(attempt: Attempt): Outcome {
  const { outward, arrived, back, answered, sameDevice } = attempt;
  if (outward.kind === 'delivered' && arrived && back?.kind === 'delivered' && answered) {
    const found = 'a message went there and one came back';
    if (!sameDevice) return ok(found);
    return note(
      `${found}, through one device: no network and no security group was tried`,
      'Listen on another host.',
    );
  }
  if (!arrived) return explained('there', outward);
  if (outward.kind !== 'delivered') {
    const found = `the message came there, but no acknowledgement of it back: ${textOf(outward)}`;
    return error(found, `The way back is closed, from the other host to this one.\n${RULES}`);
  }
  if (back !== null && back.kind !== 'delivered') return explained('back', back);
  return error(
    'the message came there; the answer was sent, and has not come',
    `The peer's device says that it was delivered. Try again with a longer --timeout.`,
  );
}

function explained(way: 'there' | 'back', delivery: Delivery): Outcome {
  const [meaning, fix] = deliveryText(delivery);
  const where = way === 'there' ? 'from here to the other host' : 'from the other host to here';
  return error(`${where}: ${meaning} (${textOf(delivery)})`, fix);
}

function deliveryText({ kind }: Delivery): [meaning: string, fix: string] {
  switch (kind) {
    case 'no-route':
      return [
        'no route: the device has no way to that address',
        'EFA does not pass from one VPC or availability zone to another: put both in one subnet.',
      ];
    case 'unreachable':
    case 'silent':
      return [
        'dropped: nothing of the other device has ever come back',
        `${RULES}\nBoth hosts must be in one availability zone of one VPC.`,
      ];
    case 'unresponsive':
      return [
        'dropped: the other device does not answer',
        `See whether the other host is up, and its port: npx libfabric doctor. If it is:\n${RULES}`,
      ];
    case 'refused':
      return [
        'refused: the other device answers that it has no such endpoint',
        'The security group is fine. Start the peer again: npx libfabric doctor --listen',
      ];
    case 'not-ready':
      return [
        'refused for now: the other endpoint takes nothing in',
        'The security group is fine. See whether the other host is short of CPU time or memory.',
      ];
    case 'delivered':
      return [
        'lost: this device says that it was delivered, and it has not come',
        'Try again with a longer --timeout; npx libfabric stats shows rx_drops there.',
      ];
    case 'failed':
      return ['failed', 'FI_LOG_LEVEL=warn tells more, on both sides.'];
  }
}

function textOf({ kind, message, provErrno }: Delivery): string {
  if (message === null) return kind === 'silent' ? 'no completion in time' : kind;
  return provErrno === null ? message : `${message}, status ${provErrno}`;
}

/** The finding if this side has no EFA. */
export function noEfaFinding(reason: string): Finding {
  const check = {
    id: 'peer.fabric',
    title: 'EFA between the hosts',
    expected: 'an EFA on both sides',
    why: 'The probe is of EFA and its security groups, and of nothing else.',
  };
  const fix =
    'Over TCP: npx libfabric rdm-pingpong -p tcp, on both hosts.\n' +
    'In software: npx libfabric softefa --node 1 -- npx libfabric doctor --peer HOST';
  return findingOf(check, GROUP, error(reason, fix));
}
