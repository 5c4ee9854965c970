import { error, findingOf, note, type Outcome, ok } from '../check.js';
import type { Finding } from '../diagnosis.js';
import type { ReachError, ReachKind } from './connection.js';
import type { Delivery } from './messages.js';
import type { Attempt, Target } from './probe.js';

const GROUP = 'Peer';

const RULES =
  'EFA traffic needs rules that name the security group itself: 0.0.0.0/0 does not match\n' +
  'it. SG is the security group of both interfaces:\n' +
  'aws ec2 authorize-security-group-egress --group-id SG --ip-permissions \\\n' +
  "  'IpProtocol=-1,UserIdGroupPairs=[{GroupId=SG}]'\n" +
  'aws ec2 authorize-security-group-ingress --group-id SG --protocol -1 --source-group SG';

/** The finding for TCP. `failure` is undefined if it worked. */
export function tcpFinding({ host, port }: Target, failure?: ReachError): Finding {
  const check = {
    id: 'peer.tcp',
    title: `TCP to ${host}, port ${port}`,
    expected: 'a doctor listens there',
    why: 'The two sides exchange their EFA addresses over it.',
  };
  if (failure === undefined) return findingOf(check, GROUP, ok('connected'));
  const [meaning, fix] = reachText(failure.kind, port);
  return findingOf(check, GROUP, error(`${meaning} (${failure.message})`, fix));
}

function reachText(kind: ReachKind, port: number): [meaning: string, fix: string] {
  switch (kind) {
    case 'unknown-host':
      return ['unknown host: the name has no address', 'Use its private IP address instead.'];
    case 'no-route':
      return [
        'no route: that host cannot be reached',
        'Check the address and the route tables of the subnets. Both hosts must be in one VPC.',
      ];
    case 'dropped':
      return [
        'dropped: nothing answers, so packets are dropped between the hosts',
        'Allow TCP between the hosts; SG is the security group of both:\n' +
          `aws ec2 authorize-security-group-ingress --group-id SG --protocol tcp --port ${port} --source-group SG\n` +
          'Then check the network ACLs of the subnets, and whether the host is up.',
      ];
    case 'refused':
      return [
        'refused: the host is up, but nothing listens at that port',
        `On that host: npx libfabric doctor --listen --port ${port}`,
      ];
    case 'not-a-doctor':
      return [
        'the process that listens there is not the doctor, or the doctor has exited',
        `On that host, with this release of the package: npx libfabric doctor --listen --port ${port}`,
      ];
    case 'failed':
      return ['failed', "Check the peer's output."];
  }
}

/** The finding for one attempt over the fabric. */
export function fabricFinding(attempt: Attempt): Finding {
  const check = {
    id: 'peer.fabric',
    title: `${attempt.domain} to ${attempt.peerDomain}`,
    expected: 'a message there and one back, over EFA',
    why: 'The security groups of both hosts must allow it. They may allow TCP but not EFA.',
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
    const found = `the message arrived there, but its acknowledgement did not come back: ${textOf(outward)}`;
    return error(found, `The way from the other host back to this one is closed.\n${RULES}`);
  }
  if (back !== null && back.kind !== 'delivered') return explained('back', back);
  return error(
    'the message arrived there; the answer was sent, but did not arrive',
    `The peer's device reports that it was delivered. Try again with a longer --timeout.`,
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
        'EFA traffic cannot cross VPCs or availability zones: put both hosts in one subnet.',
      ];
    case 'unreachable':
    case 'silent':
      return [
        'dropped: nothing ever came back from the other device',
        `${RULES}\nBoth hosts must be in one availability zone of one VPC.`,
      ];
    case 'unresponsive':
      return [
        'dropped: the other device does not answer',
        `Check whether the other host is up, and its port: npx libfabric doctor. If it is:\n${RULES}`,
      ];
    case 'refused':
      return [
        'refused: the other device answers that it has no such endpoint',
        'The security group is fine. Start the peer again: npx libfabric doctor --listen',
      ];
    case 'not-ready':
      return [
        'refused for now: the other endpoint receives nothing',
        'The security group is fine. Check whether the other host is short of CPU time or memory.',
      ];
    case 'delivered':
      return [
        'lost: this device reports that it was delivered, but it did not arrive',
        'Try again with a longer --timeout; npx libfabric stats shows rx_drops there.',
      ];
    case 'failed':
      return ['failed', 'FI_LOG_LEVEL=warn shows more, on both sides.'];
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
    why: 'The probe tests EFA and its security groups, and nothing else.',
  };
  const fix =
    'Over TCP: npx libfabric rdm-pingpong -p tcp, on both hosts.\n' +
    'In software: npx libfabric softefa --node 1 -- npx libfabric doctor --peer HOST';
  return findingOf(check, GROUP, error(reason, fix));
}
