(** The noise as it is drawn: one number w of so many random bits, and how many entries of the table are not above it. So each
    set of margins has exactly the table's integer over 2^bits. *)

From Coq Require Import ZArith QArith List Lia Bool Setoid.
From Duotone Require Import Coin Bytes Margin.
Import ListNotations.
Open Scope Q_scope.

(** The level with its noise: what bisection in the sorted entries says of w. *)
Definition drawn_margin (lowest : Z) (entries : list Z) (l w : Z) : Z :=
  (l - lowest - Z.of_nat (leading (fun t => t <=? w)%Z entries))%Z.

Definition drawn_with (bits : nat) lowest entries l : sampler Z :=
  draw bits (fun w => outcome (drawn_margin lowest entries l w)).

(** What a part of the row says is drawn from the numbers from [before] on. *)
Lemma drawn_row bits before entries k S : (0 <= before)%Z -> forallb (Z.leb 0) (row (size bits) before entries) = true ->
  average bits (fun w => indicator (before <=? w)%Z * indicator (S (k - Z.of_nat (leading (fun t => t <=? w) entries))%Z)) ==
  inject_Z (heard (row (size bits) before entries) k S) / inject_Z (size bits).
Proof.
  pose proof (size_nonzero bits) as N. revert before k; induction entries as [| t entries IH]; intros before k B H.
  - apply rising_last in H.
    rewrite (average_ext bits _ (fun w => indicator (w <? before)%Z * (- indicator (S k)) + 0 * 0 + indicator (S k))).
    + rewrite (average_linear bits _ (fun _ => 0)), average_indicator by lia. cbn [row heard].
      destruct (S k); cbn [indicator]; unfold Z.sub; rewrite ?inject_Z_plus, ?inject_Z_opp; field; exact N.
    + intros w Hw. cbn [leading]. replace (k - Z.of_nat 0)%Z with k by lia.
      destruct (Z.leb_spec before w), (Z.ltb_spec w before); try lia; cbn [indicator]; ring.
  - apply rising_inv in H as [L H]. pose proof (rising_least _ _ _ 0%nat H) as U. specialize (IH t (k - 1)%Z ltac:(lia) H).
    set (rest w := indicator (t <=? w)%Z * indicator (S (k - 1 - Z.of_nat (leading (fun t => t <=? w) entries))%Z)) in *.
    rewrite (average_ext bits _ (fun w =>
      (indicator (w <? t)%Z * indicator (S k) + indicator (w <? before)%Z * (- indicator (S k)) + 0) * 1 + rest w * 1 + 0)).
    + rewrite average_linear, average_linear, !average_indicator, IH by lia. cbn [row heard]. rewrite inject_Z_plus.
      destruct (S k); cbn [indicator]; unfold Z.sub; rewrite ?inject_Z_plus, ?inject_Z_opp; field; exact N.
    + intros w Hw. unfold rest. cbn [leading]. destruct (Z.leb_spec t w), (Z.ltb_spec w t); try lia.
      * rewrite Nat2Z.inj_succ. replace (k - Z.succ (Z.of_nat (leading (fun t => (t <=? w)%Z) entries)))%Z
          with (k - 1 - Z.of_nat (leading (fun t => (t <=? w)%Z) entries))%Z by lia.
        destruct (Z.leb_spec before w), (Z.ltb_spec w before); try lia; cbn [indicator]; ring.
      * replace (k - Z.of_nat 0)%Z with k by lia.
        destruct (Z.leb_spec before w), (Z.ltb_spec w before); try lia; cbn [indicator]; ring.
Qed.

Theorem margin_drawn_exact bits lowest entries l S : rising (size bits) entries = true ->
  Coin.chance S (drawn_with bits lowest entries l) == inject_Z (margin (size bits) lowest entries l S) / inject_Z (size bits).
Proof.
  intros R. unfold drawn_with. cbn [Coin.chance]. rewrite <- (drawn_row bits 0 entries (l - lowest) S) by (lia || exact R).
  apply average_ext. intros w [W _]. unfold drawn_margin. rewrite (proj2 (Z.leb_le 0 w) W). cbn [indicator]. ring.
Qed.

(** In bytes. *)
Corollary margin_bytes_exact n lowest entries l S : rising (size (8 * n)) entries = true ->
  Coin.chance S (bytes n (fun w => outcome (drawn_margin lowest entries l w))) ==
  inject_Z (margin (size (8 * n)) lowest entries l S) / inject_Z (size (8 * n)).
Proof. intros R. rewrite bytes_uniform. apply margin_drawn_exact, R. Qed.
